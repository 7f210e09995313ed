# SPDX-License-Identifier: MIT
# The program with two threads, where there are two CPUs for them.
#
#   cmake -DPROGRAM=.../simdattn -DWORK=directory -P two_threads.cmake
cmake_minimum_required(VERSION 3.20)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/home)
set(unset SATTN_PROFILE SATTN_PROFILE_STRICT XDG_CONFIG_HOME)
set(home HOME=${WORK}/home)
set(directory ${WORK})
set(flat TRUE)
include(${CMAKE_CURRENT_LIST_DIR}/program_calls.cmake)

run(CODE 0 ARGS info --json)
json(cpus context simdattn_cpus_affinity)
json(openmp context simdattn_openmp)
if(cpus LESS 2 OR openmp STREQUAL "none")
  message(STATUS "skipped: two threads need two CPUs and OpenMP")
  return()
endif()

# ---- bench: rows of each number, on CPUs of their own
run(CODE 0 MATCHES "/t1" "/t2" ARGS bench --threads 1,2 --shape one-key --list)
run(CODE 0 MATCHES "1 and 2 threads" "threads" "vs t1" ARGS bench --threads 1,2 --isa scalar --shape lines-64x49
    --op softmax --seconds 0.01)
run(CODE 0 ARGS bench --threads 2,1 --kernel sattn_softmax_f32_scalar --shape lines-64x49 --seconds 0.01 --json)
json(counts context simdattn_threads)
string(REGEX REPLACE "[ \n]" "" counts "${counts}")
if(NOT counts STREQUAL "[2,1]")
  message(SEND_ERROR "simdattn_threads is ${counts}")
endif()
json(name benchmarks 0 name)
json(threads benchmarks 0 threads)
if(NOT name MATCHES "/t2$" OR NOT threads EQUAL 2)
  message(SEND_ERROR "the first row is ${name}, on ${threads} threads")
endif()
string(FIND "${output}" "simdattn_over_one_thread_p90" at)
if(at EQUAL -1)
  message(SEND_ERROR "no speed-up over one thread in ${output}")
endif()
run(CODE 3 MATCHES "nothing" ARGS bench --op call --threads 2 --list) # calls are repeated on one

# ---- explain: the command that is named measures the very class of the call
foreach(call IN ITEMS "--op qk --shape gpt-33 --isa scalar --threads 2" "--n-q 40 --n-k 40 --d 64 --causal --threads 2")
  separate_arguments(words UNIX_COMMAND "${call}")
  run(CODE 0 MATCHES "nothing for such calls" ARGS explain ${words} --profile none)
  expect_own_command()
endforeach()

# ---- tune: far from finished with all classes
run(CODE 0 MATCHES "not finished" BUDGETS 0.5 1 2 ARGS tune --op fused --threads 2 --out ${WORK}/wide.json)
expect_width(100 "^[ *] +[a-z]")
