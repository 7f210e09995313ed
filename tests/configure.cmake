# SPDX-License-Identifier: MIT
# What the configure step must refuse, with a sentence that says why: flags under which NaN and
# infinity mean nothing or that tie the build to this CPU, and missing packages.
#
#   cmake -DSOURCE=... -DWORK=... -DGENERATOR=... -DC_COMPILER=... -P configure.cmake
cmake_minimum_required(VERSION 3.20)

function(refuses name pattern)
  set(build ${WORK}/${name})
  file(REMOVE_RECURSE ${build})
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${build} -G ${GENERATOR} -DSATTN_TESTS=OFF
                          -DSATTN_BENCH=OFF -DCMAKE_C_COMPILER=${C_COMPILER} ${ARGN}
                  OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
  file(REMOVE_RECURSE ${build})
  string(REGEX REPLACE "[ \n]+" " " said "${err}")
  if(code EQUAL 0 OR NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "${name}: expected a refusal that says '${pattern}', exit code ${code}:\n${out}\n${err}")
  endif()
  message(STATUS "refused: ${name}")
endfunction()

set(ENV{CFLAGS} "")
refuses(fast_math "-ffast-math.* needs IEEE arithmetic" -DCMAKE_C_FLAGS=-ffast-math)
refuses(ofast "-Ofast.* needs IEEE arithmetic" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=-Ofast -DNDEBUG")
refuses(finite_math "-ffinite-math-only.* needs IEEE arithmetic" -DCMAKE_C_FLAGS=-ffinite-math-only)
refuses(native "-march=native.* chooses ISA flags itself" -DCMAKE_C_FLAGS=-march=native)
refuses(no_sleef "SLEEF was not found.*libsleef-dev.*SATTN_SLEEF=OFF" -DCMAKE_DISABLE_FIND_PACKAGE_sleef=ON
        -DSATTN_SLEEF_LIBRARY= -DSATTN_SLEEF_INCLUDE_DIR=)
refuses(no_jansson "jansson was not found.*libjansson-dev.*jansson-devel.*brew install jansson.*SATTN_PROFILES=OFF"
        -DJANSSON_LIBRARY= -DJANSSON_INCLUDE_DIR=)
refuses(no_openmp "OpenMP was not found.*libomp-dev.*libomp-devel.*brew install libomp.*SATTN_OPENMP=OFF"
        -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON)
set(ENV{CFLAGS} -ffast-math)
refuses(fast_math_in_environment "-ffast-math.* needs IEEE arithmetic")
