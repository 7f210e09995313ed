# SPDX-License-Identifier: MIT
# Seeded defects. Each is one source file with one piece of text replaced, compiled and linked in the
# place of the right one into the kernel's own test program, which must then fail. So the tests are
# known to see what they are there for, in every ISA; and since the text to replace must occur exactly
# once, a defect cannot outlive the code that it is about.

option(SATTN_DEFECTS "build and run the seeded defects" ON)
if(NOT SATTN_DEFECTS OR SATTN_SANITIZE)
  return()
endif()

# sattn_defect(name FILE path FROM [[text]] TO [[text]] KERNELS row...)
# For each of the registry rows that this build has: a test defect.<row>.<name>. FILE is the row's own
# file, or a header that it includes.
function(sattn_defect name)
  cmake_parse_arguments(PARSE_ARGV 1 defect "" "FILE;FROM;TO" "KERNELS")
  set(overlay ${CMAKE_CURRENT_BINARY_DIR}/defects/${name})
  sattn_spoil("${defect_FILE}" "${defect_FROM}" "${defect_TO}" ${overlay})
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
    get_property(flags GLOBAL PROPERTY sattn_flags_${isa})
    sattn_defect_test(${row}.${name} ${overlay} ${defect_FILE} ${source} "${flags}" test_${op}
                      --kernel=${row} --first)
  endforeach()
endfunction()

# sattn_dispatch_defect(name FILE path FROM [[text]] TO [[text]] COMMAND program arguments...)
# The same for a file of dispatch/: a test defect.dispatch.<name>.
function(sattn_dispatch_defect name)
  cmake_parse_arguments(PARSE_ARGV 1 defect "" "FILE;FROM;TO" "COMMAND")
  set(overlay ${CMAKE_CURRENT_BINARY_DIR}/defects/dispatch/${name})
  sattn_spoil("${defect_FILE}" "${defect_FROM}" "${defect_TO}" ${overlay})
  sattn_defect_test(dispatch.${name} ${overlay} ${defect_FILE} ${defect_FILE} "" ${defect_COMMAND})
endfunction()

# Writes the file with its text replaced to the same place under `overlay`.
function(sattn_spoil file from to overlay)
  set(path ${PROJECT_SOURCE_DIR}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  string(FIND "${text}" "${from}" first)
  string(FIND "${text}" "${from}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "${overlay}: the text to replace must occur once in ${file}:\n${from}")
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  file(GENERATE OUTPUT ${overlay}/${file} CONTENT "${text}")
endfunction()

# The test program's own objects, the wrong one, and the rest of the library: of two objects that
# define a function the linker takes the one that is named, and leaves the library's aside. `spoilt`
# is the file that was changed, `source` the one to compile.
function(sattn_defect_test name overlay spoilt source flags program)
  set(target defect.${name})
  set(path ${PROJECT_SOURCE_DIR}/${source})
  if(source STREQUAL spoilt)
    set(path ${overlay}/${source})
  endif()
  add_executable(${target} ${path} $<TARGET_OBJECTS:${program}>)
  target_include_directories(${target} BEFORE PRIVATE ${overlay})
  target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> ${flags} -w)
  target_link_libraries(${target} PRIVATE sattn_flags $<TARGET_PROPERTY:${program},LINK_LIBRARIES>)
  add_test(NAME ${target} COMMAND ${CMAKE_COMMAND} "-DCOMMAND=${CMAKE_CROSSCOMPILING_EMULATOR}|$<TARGET_FILE:${target}>|$<JOIN:${ARGN},|>"
           -P ${CMAKE_CURRENT_SOURCE_DIR}/defect.cmake)
  set_tests_properties(${target} PROPERTIES LABELS defects TIMEOUT 300 SKIP_REGULAR_EXPRESSION "skipped:")
endfunction()

file(GLOB lists CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/defects/*.cmake)
foreach(list IN LISTS lists)
  include(${list})
endforeach()
