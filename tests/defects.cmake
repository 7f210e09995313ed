# SPDX-License-Identifier: MIT
# Seeded defects. Each is one source file with one piece of text replaced, compiled and linked in the
# place of the right one into a test program, which must then fail. So the tests are known to see what
# they are there for, in every ISA. The text to replace must occur exactly once: where it no longer
# does, the defect's test fails, and a defect cannot outlive the code that it is about.

option(SATTN_DEFECTS "build and run the seeded defects" ON)
if(NOT SATTN_DEFECTS OR SATTN_SANITIZE)
  return()
endif()
set(defects_at_least 20) # of each ISA
if(POLICY CMP0174) # TO "" is an empty text, not a missing one
  cmake_policy(SET CMP0174 NEW)
endif()

# sattn_defect(name FILE path FROM [[text]] TO [[text]] KERNELS row... [GROUP name] [NATIVE])
# For each of the registry rows that this build has: a test defect.<row>.<name>. FILE is the row's own
# file, or a header that it includes. GROUP is the group of the row's test program that has to see the
# defect; left out, any may. NATIVE leaves it out of cross builds: what sees it takes too long emulated.
function(sattn_defect name)
  cmake_parse_arguments(PARSE_ARGV 1 defect "NATIVE" "FILE;FROM;TO;GROUP" "KERNELS")
  if(defect_NATIVE AND CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(overlay ${CMAKE_CURRENT_BINARY_DIR}/defects/${name})
  string(MAKE_C_IDENTIFIER "${defect_FILE}" file)
  string(APPEND overlay .${file})
  sattn_spoil("${defect_FILE}" "${defect_FROM}" "${defect_TO}" ${overlay} is_spoilt)
  set(group "")
  if(defect_GROUP)
    set(group --group=${defect_GROUP})
  endif()
  foreach(row IN LISTS defect_KERNELS)
    if(NOT row MATCHES "^sattn_(([a-z]+)_f32_([a-z0-9]+)[a-z0-9_]*)$")
      message(FATAL_ERROR "defect ${name}: '${row}' is not the name of a kernel")
    endif()
    set(kernel ${CMAKE_MATCH_1})
    set(op ${CMAKE_MATCH_2})
    set(isa ${CMAKE_MATCH_3})
    sattn_registry_rows(${op} rows)
    if(NOT row IN_LIST rows)
      continue()
    endif()
    set(source kernels/${op}/${kernel}.c)
    if(NOT source STREQUAL defect_FILE AND defect_FILE MATCHES "\\.c$")
      message(FATAL_ERROR "defect ${name}: ${defect_FILE} is not part of ${row}")
    endif()
    set(program test_${op})
    if(op MATCHES "^(exp|tanh|sigmoid)$")
      set(program test_array)
    endif()
    get_property(flags GLOBAL PROPERTY sattn_flags_${isa})
    sattn_defect_test(${row}.${name} ${is_spoilt} ${overlay} ${defect_FILE} ${source} "${flags}"
                      ${program} --kernel=${row} --first ${group})
    sattn_count_defect(${isa} ${op})
  endforeach()
endfunction()

# sattn_dispatch_defect(name FILE path FROM [[text]] TO [[text]] COMMAND program arguments...
#                       [SOURCE path])
# The same for a file of dispatch/: a test defect.dispatch.<name>. Where FILE is a header, SOURCE is
# the file to compile with it. Dispatch is the same on all machines, so cross builds leave it out.
function(sattn_dispatch_defect name)
  cmake_parse_arguments(PARSE_ARGV 1 defect "" "FILE;SOURCE;FROM;TO" "COMMAND")
  list(GET defect_COMMAND 0 program)
  if(CMAKE_CROSSCOMPILING OR NOT TARGET ${program})
    return()
  endif()
  if(NOT defect_SOURCE)
    set(defect_SOURCE ${defect_FILE})
  endif()
  set(overlay ${CMAKE_CURRENT_BINARY_DIR}/defects/dispatch/${name})
  sattn_spoil("${defect_FILE}" "${defect_FROM}" "${defect_TO}" ${overlay} is_spoilt)
  sattn_defect_test(dispatch.${name} ${is_spoilt} ${overlay} ${defect_FILE} ${defect_SOURCE} ""
                    ${defect_COMMAND})
  sattn_count_defect(dispatch ${program})
endfunction()

# Writes the file with its text replaced to the same place under `overlay`. The variable tells
# whether the text was there, once.
function(sattn_spoil file from to overlay variable)
  set(path ${PROJECT_SOURCE_DIR}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  string(FIND "${text}" "${from}" first)
  string(FIND "${text}" "${from}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(WARNING "${overlay}: the text to replace must occur once in ${file}:\n${from}")
    set(${variable} NO PARENT_SCOPE)
    return()
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  file(GENERATE OUTPUT ${overlay}/${file} CONTENT "${text}")
  set(${variable} YES PARENT_SCOPE)
endfunction()

# The test program's own objects, the wrong one, and the rest of the library: of two objects that
# define a function the linker takes the one that is named, and leaves the library's aside. `spoilt`
# is the file that was changed, `source` the one to compile: as written (kernels/vec/vec_base.h) and at
# -Og, where it is no less wrong and built in a third of the time.
function(sattn_defect_test name is_spoilt overlay spoilt source flags program)
  set(target defect.${name})
  if(NOT is_spoilt)
    add_test(NAME ${target} COMMAND ${CMAKE_COMMAND} -DOUTDATED=${spoilt}
             -P ${CMAKE_CURRENT_SOURCE_DIR}/defect.cmake)
    set_tests_properties(${target} PROPERTIES LABELS defects)
    return()
  endif()
  set(path ${PROJECT_SOURCE_DIR}/${source})
  if(source STREQUAL spoilt)
    set(path ${overlay}/${source})
  endif()
  add_executable(${target} ${path} $<TARGET_OBJECTS:${program}>)
  target_include_directories(${target} BEFORE PRIVATE ${overlay})
  target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-Og> ${flags} -w)
  target_compile_definitions(${target} PRIVATE SATTN_VERSION="${PROJECT_VERSION}" SATTN_AS_WRITTEN)
  target_link_libraries(${target} PRIVATE sattn_flags $<TARGET_PROPERTY:${program},LINK_LIBRARIES>)
  set(seeds "")
  set(cpu "")
  if(CMAKE_CROSSCOMPILING)
    list(LENGTH SATTN_TEST_CPUS count)
    foreach(seed RANGE 1 ${count})
      list(APPEND seeds ${seed})
    endforeach()
    list(GET SATTN_TEST_CPUS -1 cpu)
  endif()
  add_test(NAME ${target} COMMAND ${CMAKE_COMMAND} "-DSEEDS=$<JOIN:${seeds},|>"
           "-DCOMMAND=${CMAKE_CROSSCOMPILING_EMULATOR}|$<TARGET_FILE:${target}>|$<JOIN:${ARGN},|>"
           -P ${CMAKE_CURRENT_SOURCE_DIR}/defect.cmake)
  set_tests_properties(${target} PROPERTIES LABELS defects TIMEOUT 300 SKIP_REGULAR_EXPRESSION "skipped:")
  if(cpu)
    set_tests_properties(${target} PROPERTIES ENVIRONMENT QEMU_CPU=${cpu})
  endif()
endfunction()

# ---- how many there are
function(sattn_count_defect isa what)
  set_property(GLOBAL APPEND PROPERTY sattn_defects_${isa} ${what})
endfunction()

# "avx2     41: fused 27, qk 14"
function(sattn_defect_line isa line_variable total_variable)
  get_property(all GLOBAL PROPERTY sattn_defects_${isa})
  list(LENGTH all total)
  set(kinds ${all})
  list(REMOVE_DUPLICATES kinds)
  set(parts "")
  foreach(kind IN LISTS kinds)
    set(of_kind ${all})
    list(FILTER of_kind INCLUDE REGEX "^${kind}$")
    list(LENGTH of_kind count)
    list(APPEND parts "${kind} ${count}")
  endforeach()
  list(JOIN parts ", " parts)
  string(SUBSTRING "${isa}          " 0 9 padded)
  set(${line_variable} "${padded}${total}: ${parts}" PARENT_SCOPE)
  set(${total_variable} ${total} PARENT_SCOPE)
endfunction()

file(GLOB lists CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/defects/*.cmake)
foreach(list IN LISTS lists)
  include(${list})
endforeach()

set(table "seeded defects, each a test defect.<kernel>.<what> that passes where it is caught\n")
foreach(isa IN LISTS SATTN_ISAS ITEMS dispatch)
  sattn_defect_line(${isa} line total)
  if(total GREATER 0)
    message(STATUS "Seeded defects: ${line}")
    string(APPEND table "  ${line}\n")
  endif()
  if(NOT isa STREQUAL "dispatch" AND total LESS defects_at_least)
    message(FATAL_ERROR "${total} seeded defects for ${isa}: expected at least ${defects_at_least} of each ISA")
  endif()
endforeach()
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/defects/listed.txt "${table}")
add_test(NAME defects.listed COMMAND ${CMAKE_COMMAND} -E cat ${CMAKE_CURRENT_BINARY_DIR}/defects/listed.txt)
set_tests_properties(defects.listed PROPERTIES LABELS defects)
