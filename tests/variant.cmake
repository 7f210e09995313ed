# SPDX-License-Identifier: MIT
# Adds a throw-away variant, one file and one registry row, to a copy of the tree, and finds it in
# `simdattn info`, in the list of tests and in the list of benches; its tests pass. Then the variant
# is made wrong by 1 %: its tests fail, and the bench refuses to time it.
#
#   cmake -DSOURCE=... -DWORK=... -DGENERATOR=... -DC_COMPILER=... -DCXX_COMPILER=... -P variant.cmake
cmake_minimum_required(VERSION 3.20)
set(kernel sattn_fused_f32_scalar_throwaway)

include(${CMAKE_CURRENT_LIST_DIR}/command.cmake)

function(expect where)
  if(NOT output MATCHES "${kernel}")
    message(FATAL_ERROR "${kernel} is not in ${where}:\n${output}")
  endif()
  message(STATUS "found in ${where}")
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE}/CMakeLists.txt ${SOURCE}/kernels ${SOURCE}/dispatch ${SOURCE}/bench ${SOURCE}/tests ${SOURCE}/docs
     DESTINATION ${WORK}/tree PATTERN data EXCLUDE)

file(READ ${WORK}/tree/kernels/fused/fused_f32_scalar.c text)
string(REPLACE sattn_fused_f32_scalar ${kernel} text "${text}")
file(WRITE ${WORK}/tree/kernels/fused/fused_f32_scalar_throwaway.c "${text}")
file(APPEND ${WORK}/tree/dispatch/registry.def
     "SATTN_KERNEL(fused, ${kernel}, SATTN_ISA_SCALAR, 0, 1, 128, 1, 0, \"a copy\")\n")

run(${CMAKE_COMMAND} -S ${WORK}/tree -B ${WORK}/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DSATTN_WERROR=ON -DSATTN_DEFECTS=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/build --target simdattn test_fused test_cases)
run(${WORK}/build/bench/simdattn info)
expect("simdattn info")
run(${WORK}/build/bench/simdattn bench --list --kernel ${kernel} --shape vit-b32-50)
expect("simdattn bench --list")
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build -N)
expect("the list of tests")
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build -R "cases.${kernel}$" --no-tests=error)
expect("the tests that ran")

file(WRITE ${WORK}/tree/kernels/fused/fused_f32_scalar_throwaway.c "
#define PLAIN_SCALAR
#include \"kernels/fused/fused_plain.h\"
sattn_fused_fn ${kernel};
void ${kernel}(const sattn_fused_args *args)
{
    sattn_fused_args wrong = *args;
    wrong.scale *= 1.01f;
    fused_plain(&wrong);
}
")
run(${CMAKE_COMMAND} --build ${WORK}/build --target simdattn test_fused test_cases)
execute_process(COMMAND ${WORK}/build/bench/simdattn bench --kernel ${kernel} --shape vit-b32-50
                OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
if(NOT code EQUAL 1 OR NOT "${out}${err}" MATCHES "${kernel}")
  message(FATAL_ERROR "bench took a wrong kernel for right, exit code ${code}:\n${out}\n${err}")
endif()
foreach(test IN ITEMS fused cases)
  execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build -R "${test}.${kernel}$" --no-tests=error
                  OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE code)
  if(code EQUAL 0)
    message(FATAL_ERROR "test ${test}.${kernel} passed a wrong kernel")
  endif()
endforeach()
message(STATUS "the wrong kernel was refused by the bench and by its tests")
file(REMOVE_RECURSE ${WORK})
