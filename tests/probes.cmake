# SPDX-License-Identifier: MIT
# What the configure step finds out by compiling and linking: a compiler without one of the
# intrinsics of a level leaves that level out, a SLEEF without the functions of a level leaves their
# kernels out; either with a warning that says so, and the rest is built.
#
#   cmake -DSOURCE=... -DWORK=... -DGENERATOR=... -DC_COMPILER=... -DAR=... -DISAS=avx2|avx512
#         [-DSLEEF_INCLUDE=directory of sleef.h] -P probes.cmake
cmake_minimum_required(VERSION 3.20)
string(REPLACE "|" ";" isas "${ISAS}")
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{CFLAGS} "")

# configure(name MATCHES text... BUILDS file... LEAVES_OUT file... ARGS ...): configures, warns of each
# text, and compiles these files and not those.
function(configure name)
  cmake_parse_arguments(expect "" "" "MATCHES;BUILDS;LEAVES_OUT;ARGS" ${ARGN})
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/${name} -G ${GENERATOR} -DSATTN_TESTS=OFF
                          -DSATTN_BENCH=OFF -DCMAKE_C_COMPILER=${C_COMPILER} ${expect_ARGS}
                  OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${name}: the configure step ended with ${code}:\n${out}\n${err}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " said "${err}")
  foreach(text IN LISTS expect_MATCHES)
    if(NOT said MATCHES "${text}")
      message(SEND_ERROR "${name}: no '${text}' in\n${err}")
    endif()
  endforeach()
  file(READ ${WORK}/${name}/compile_commands.json commands)
  foreach(file IN LISTS expect_BUILDS)
    if(NOT commands MATCHES "/${file}")
      message(SEND_ERROR "${name}: ${file} is not built")
    endif()
  endforeach()
  foreach(file IN LISTS expect_LEAVES_OUT)
    if(commands MATCHES "/${file}")
      message(SEND_ERROR "${name}: ${file} is built all the same")
    endif()
  endforeach()
  file(REMOVE_RECURSE ${WORK}/${name})
  message(STATUS "as expected: ${name}")
endfunction()

# lacks(header intrinsic isa BUILDS file): a compiler whose header does not know the intrinsic.
function(lacks header intrinsic isa builds)
  file(WRITE ${WORK}/${intrinsic}/${header}
       "#pragma GCC system_header\n#include_next <${header}>\n#define ${intrinsic} no_such_intrinsic\n")
  configure(no_${intrinsic} MATCHES "cannot build ${isa} kernels: left out" BUILDS fused_f32_scalar.c ${builds}
            LEAVES_OUT fused_f32_${isa}.c ARGS -DSATTN_SLEEF=OFF -DCMAKE_C_FLAGS=-I${WORK}/${intrinsic})
endfunction()

if("avx512" IN_LIST isas)
  lacks(immintrin.h _mm512_reduce_add_ps avx512 fused_f32_avx2.c)
  lacks(immintrin.h _mm_maskz_loadu_epi8 avx512 fused_f32_avx2.c)
endif()
if("avx2" IN_LIST isas)
  lacks(immintrin.h _mm256_fmadd_ps avx2 fused_f32_scalar.c)
endif()
if("neon" IN_LIST isas)
  lacks(arm_neon.h vrndnq_f32 neon fused_f32_scalar.c)
endif()

# ---- a SLEEF that holds the functions of one level, or of none
function(make_sleef name) # functions...
  set(text "")
  foreach(function IN LISTS ARGN)
    string(APPEND text "void ${function}(void);\nvoid ${function}(void) {}\n")
  endforeach()
  file(WRITE ${WORK}/${name}.c "${text}int sattn_not_empty;\n")
  execute_process(COMMAND ${C_COMPILER} -c ${WORK}/${name}.c -o ${WORK}/${name}.o COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${AR} rcs ${WORK}/lib${name}.a ${WORK}/${name}.o COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(SLEEF_INCLUDE)
  set(own -DCMAKE_DISABLE_FIND_PACKAGE_sleef=ON -DSATTN_SLEEF_INCLUDE_DIR=${SLEEF_INCLUDE})
  make_sleef(nothing)
  list(REMOVE_ITEM isas scalar)
  foreach(isa IN LISTS isas)
    list(APPEND warnings "SLEEF .*has no functions for ${isa}")
    list(APPEND kernels exp_f32_${isa}.c)
    list(APPEND by_sleef exp_f32_${isa}_sleef.c tanh_f32_${isa}_sleef.c)
  endforeach()
  configure(sleef_of_nothing MATCHES ${warnings} BUILDS exp_f32_scalar.c ${kernels} LEAVES_OUT ${by_sleef}
            ARGS ${own} -DSATTN_SLEEF_LIBRARY=${WORK}/libnothing.a)
  if("avx512" IN_LIST isas)
    make_sleef(half Sleef_expf8_u10avx2 Sleef_tanhf8_u10avx2)
    configure(sleef_of_avx2 MATCHES "SLEEF .*has no functions for avx512"
              BUILDS exp_f32_avx2_sleef.c tanh_f32_avx2_sleef.c exp_f32_avx512.c
              LEAVES_OUT exp_f32_avx512_sleef.c tanh_f32_avx512_sleef.c
              ARGS ${own} -DSATTN_SLEEF_LIBRARY=${WORK}/libhalf.a)
  endif()
endif()
file(REMOVE_RECURSE ${WORK})
