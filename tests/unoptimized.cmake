# SPDX-License-Identifier: MIT
# The library without optimisation: every variable is on the stack, moves that need alignment are not
# optimised away, and every assertion is in. The first call works from a static constructor, and
# tensors may lie at any multiple of four bytes.
#
#   cmake -DSOURCE=... -DWORK=... -DGENERATOR=... -DC_COMPILER=... -DKERNELS=name|name -P unoptimized.cmake
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/command.cmake)
set(ENV{CFLAGS} "")
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK} -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_C_FLAGS_DEBUG=-O0 -DSATTN_BENCH=OFF -DSATTN_DEFECTS=OFF)
run(${CMAKE_COMMAND} --build ${WORK} --target test_constructor test_cases)
run(${WORK}/tests/test_constructor)
string(REPLACE "|" ";" kernels "${KERNELS}")
foreach(kernel IN LISTS kernels)
  foreach(group IN ITEMS N21 N23 N24)
    execute_process(COMMAND ${WORK}/tests/test_cases --kernel=${kernel} --group=${group}
                    OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
    if(NOT code MATCHES "^(0|77)$")
      message(SEND_ERROR "${kernel}, ${group}: ${code}\n${out}\n${err}")
    endif()
  endforeach()
endforeach()
file(REMOVE_RECURSE ${WORK})
