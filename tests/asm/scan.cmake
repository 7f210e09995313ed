# SPDX-License-Identifier: MIT
# What the compiler made of it: tests that disassemble objects (program.py). Sanitizers add code of their own,
# and with link-time optimisation objects hold none.
if(SATTN_SANITIZE OR CMAKE_INTERPROCEDURAL_OPTIMIZATION OR CMAKE_BUILD_TYPE STREQUAL "Debug" OR
   NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64|aarch64|arm64)$")
  return()
endif()

find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
set(scan_skip "")
if(NOT CMAKE_OBJDUMP)
  set(scan_skip "no objdump for ${CMAKE_SYSTEM_PROCESSOR}")
elseif(NOT Python3_Interpreter_FOUND)
  set(scan_skip "no Python 3.9 or later")
endif()

# sattn_scan_test(name COMMAND ... [SKIP reason])
function(sattn_scan_test name)
  cmake_parse_arguments(test "" "SKIP" "COMMAND" ${ARGN})
  if(test_SKIP)
    set(test_COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${test_SKIP}")
  endif()
  add_test(NAME scan.${name} COMMAND ${test_COMMAND} COMMAND_EXPAND_LISTS)
  set_tests_properties(scan.${name} PROPERTIES LABELS library TIMEOUT ${test_timeout}
                       SKIP_RETURN_CODE 77 SKIP_REGULAR_EXPRESSION "^skipped:")
endfunction()

# sattn_scan(name rule target...): one rule, on the objects of some targets
function(sattn_scan name rule)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  sattn_scan_test(${name} SKIP "${scan_skip}"
                  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR} scan ${rule}
                          --objdump ${CMAKE_OBJDUMP} ${objects})
endfunction()

# ---- the tool itself, on snippets of disassembly
sattn_scan_test(tool SKIP "${scan_skip}"
                COMMAND ${Python3_EXECUTABLE} -B -m unittest discover -s ${CMAKE_CURRENT_LIST_DIR})

# ---- kernels
set(kernel_targets "")
foreach(isa IN LISTS SATTN_ISAS)
  list(APPEND kernel_targets sattn_kernels_${isa})
  if(NOT isa STREQUAL "scalar")
    sattn_scan(autovec.${isa} autovec sattn_kernels_${isa})
    sattn_scan(hot_loops.${isa} hot_loops sattn_kernels_${isa})
  endif()
endforeach()
sattn_scan(symbols symbols ${kernel_targets})
sattn_scan(scalar scalar sattn_kernels_scalar)
if(SATTN_BUILD_AVX2)
  sattn_scan(avx2 avx2 sattn_kernels_avx2)
endif()

# ---- the rest
if(SATTN_BENCH)
  list(TRANSFORM kernel_targets REPLACE "_kernels_" "_limits_" OUTPUT_VARIABLE limit_targets)
  sattn_scan(exports exports ${limit_targets})
endif()
sattn_scan(unfused unfused sattn_ref sattn_verify sattn_objects)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  get_property(test_programs GLOBAL PROPERTY sattn_test_programs)
  set(baseline_targets sattn_objects sattn_kernels_scalar sattn_ref sattn_verify sattn_test_support ${test_programs})
  if(SATTN_BENCH)
    list(APPEND baseline_targets sattn_measure sattn_limits_scalar simdattn)
  endif()
  sattn_scan(baseline baseline ${baseline_targets})
endif()

# ---- NEON kernels of the other compiler: no suite is built with clang for AArch64
if(CMAKE_CROSSCOMPILING AND SATTN_BUILD_NEON AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  find_program(SATTN_CLANG NAMES clang)
  set(skip "${scan_skip}")
  if(NOT skip AND NOT SATTN_CLANG)
    set(skip "no clang")
  endif()
  sattn_scan_test(hot_loops.neon.clang SKIP "${skip}"
                  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DGENERATOR=${CMAKE_GENERATOR}
                          -DWORK=${CMAKE_CURRENT_BINARY_DIR}/asm -DC_COMPILER=${SATTN_CLANG}
                          -DTOOLCHAIN=${CMAKE_TOOLCHAIN_FILE} -DPYTHON=${Python3_EXECUTABLE}
                          -DOBJDUMP=${CMAKE_OBJDUMP}
                          -P ${CMAKE_CURRENT_LIST_DIR}/clang.cmake)
endif()
