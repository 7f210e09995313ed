# SPDX-License-Identifier: MIT
# The NEON kernels compiled by clang, in a build directory of their own, and the rules on their hot loops.
#
#   cmake -DSOURCE=... -DWORK=... -DGENERATOR=... -DTOOLCHAIN=... -DC_COMPILER=clang -DPYTHON=... -DOBJDUMP=... \
#         -P clang.cmake
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/../command.cmake)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK} -G ${GENERATOR} -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_BUILD_TYPE=Release -DSATTN_BENCH=OFF -DSATTN_TESTS=OFF
    -DSATTN_SLEEF=OFF -DSATTN_OPENMP=OFF -DSATTN_PROFILES=OFF)
run(${CMAKE_COMMAND} --build ${WORK} --target sattn_kernels_neon)
file(GLOB objects ${WORK}/CMakeFiles/sattn_kernels_neon.dir/kernels/*/*.o)
execute_process(COMMAND ${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR} scan hot_loops --objdump ${OBJDUMP} ${objects}
                RESULT_VARIABLE code)
if(NOT code MATCHES "^(0|77)$") # 77: it has said why it skips
  message(FATAL_ERROR "the rules on hot loops are broken in a build with ${C_COMPILER}")
endif()
file(REMOVE_RECURSE ${WORK})
