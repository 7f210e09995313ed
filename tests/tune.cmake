# SPDX-License-Identifier: MIT
# `simdattn tune` as a user meets it: messages, what it leaves behind, and what becomes of that when it is
# interrupted, killed, or not alone.
#
#   cmake -DPROGRAM=.../simdattn -DWORK=directory -P tune.cmake
cmake_minimum_required(VERSION 3.20)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(profile ${WORK}/profile.json)
set(unset SATTN_PROFILE SATTN_PROFILE_STRICT)
include(${CMAKE_CURRENT_LIST_DIR}/program_calls.cmake)

# settle(file arguments...): tunes into a file, whose classes are finished then: on a busy machine a race may not end,
# and what is kept of a profile does not depend on that.
function(settle file)
  run(CODE 0 ARGS tune ${ARGN} --budget 1 --out ${file})
  file(READ ${file} text)
  string(REPLACE "\"complete\": false" "\"complete\": true" text "${text}")
  file(WRITE ${file} "${text}")
endfunction()

# The number of entries of a profile, which must be whole.
function(count_entries variable file)
  file(READ ${file} text)
  string(JSON entries ERROR_VARIABLE error LENGTH "${text}" entries)
  if(error)
    message(SEND_ERROR "${file} is not whole: ${error}")
    set(entries 0)
  endif()
  set(${variable} ${entries} PARENT_SCOPE)
endfunction()

# ---- wrong usage
run(CODE 2 MATCHES "--budgt" "--budget" ARGS tune --budgt 3)
run(CODE 2 MATCHES "--budget" "expected" ARGS tune --budget 0)
run(CODE 2 MATCHES "--budget" "expected" ARGS tune --budget nan)
run(CODE 2 MATCHES "--max-error" "expected" ARGS tune --max-error -1)
run(CODE 2 MATCHES "--seed" "expected" ARGS tune --seed -1)
run(CODE 2 MATCHES "no-such-shape" ARGS tune --shape no-such-shape)
run(CODE 2 MATCHES "chain" "--op" ARGS tune --op chain)
run(CODE 2 MATCHES "avx51" ARGS tune --isa avx51)
run(CODE 2 MATCHES "--threads" ARGS tune --threads 0)
run(CODE 2 MATCHES "a value must follow" ARGS tune --out)
run(CODE 2 MATCHES "--json" ARGS tune --list --json)
run(CODE 2 MATCHES "--fresh" ARGS tune --verify --fresh)
run(CODE 2 MATCHES "no/such/place" ARGS tune --shape one-key --out no/such/place/profile.json)
run(CODE 3 MATCHES "nothing was tuned" ARGS tune --op exp --shape one-key)
run(CODE 3 MATCHES "no profile to verify" ARGS tune --verify --out ${profile})
run(CODE 3 MATCHES "no shape" ARGS tune --verify --op exp --shape p-90x90-d64 --out ${profile})
run(CODE 0 MATCHES "usage" "--max-error" ARGS tune --help)
set(environment SATTN_KERNEL=sattn_fused_f32_scalar)
run(CODE 2 MATCHES "SATTN_KERNEL" "unset" ARGS tune --shape one-key --out ${profile})
set(environment "")
run(CODE 0 MATCHES "models and decode" "llama3-8b-384" "single steps" "exp, array-64" "interleaved" ARGS tune --list)
run(CODE 0 MATCHES "d-1x330-d64" ARGS tune --verify --list)

# ---- one class: what is said, and what is written
settle(${profile} --shape one-key)
run(CODE 0 MATCHES "one-key" "1 of 1 class finished" "The profile is ${profile}" "./run explain --shape one-key"
    ARGS tune --shape one-key --budget 1 --out ${profile})
count_entries(entries ${profile})
file(READ ${profile} output)
json(complete entries 0 complete)
json(class entries 0 class)
json(admitted entries 0 candidates 0 admitted)
json(cpu identity cpu_name)
if(NOT entries EQUAL 1 OR NOT complete STREQUAL "ON" OR NOT admitted STREQUAL "ON" OR NOT class MATCHES "^attention decode")
  message(SEND_ERROR "not a finished entry: ${output}")
endif()
file(GLOB leftovers ${profile}?*)
if(leftovers)
  message(SEND_ERROR "temporary files were left: ${leftovers}")
endif()

# ---- what is finished is kept, measured again only if that is asked for, and not kept for another error
run(CODE 0 MATCHES "from the file" ARGS tune --shape one-key --budget 1 --out ${profile})
run(CODE 0 LACKS "from the file" ARGS tune --shape one-key --budget 1 --fresh --out ${profile})
run(CODE 0 LACKS "from the file" ARGS tune --shape one-key --budget 1 --max-error 1e6 --out ${profile})
settle(${profile} --shape one-key --max-error 1e6)
run(CODE 0 MATCHES "from the file" ARGS tune --shape one-key --budget 1 --max-error 1e6 --out ${profile})
run(CODE 3 MATCHES "nothing was admitted" "--max-error is 1e-06" ARGS tune --shape vit-b32-50 --budget 60 --max-error 1e-6
    --out ${WORK}/strict.json)
run(CODE 0 LACKS "from the file" ARGS tune --shape array-64 --op exp --budget 1 --out ${profile})
settle(${profile} --shape array-64 --op exp)
run(CODE 0 MATCHES "./run explain --shape array-64 --op exp --profile ${profile}" "./run tune --verify --out ${profile}" "ULP"
    ARGS tune --shape array-64 --op exp --budget 1 --out ${profile})
count_entries(entries ${profile})
if(NOT entries EQUAL 2)
  message(SEND_ERROR "${entries} entries where a second class was added")
endif()

# ---- of what was not admitted the document tells why; numbers are those that were given
run(CODE 3 ARGS tune --shape vit-b32-50 --budget 60 --max-error 1e-6 --seed 18446744073709551615 --out ${WORK}/strict.json --json)
json(reason classes 0 candidates 0 reason)
json(seed seed)
if(NOT reason MATCHES "--max-error" OR NOT seed STREQUAL "18446744073709551615")
  message(SEND_ERROR "unexpected document: ${output}")
endif()

# ---- one document, for a class that takes longer than it is given
run(CODE 0 ARGS tune --shape gpt-small-64 --budget 0.001 --out ${WORK}/short.json --json)
foreach(key IN ITEMS profile seconds budget max_error seed interrupted coverage)
  json(value ${key})
endforeach()
json(context context simdattn_cpu_model)
json(state classes 0 state)
json(taken classes 0 taken)
json(complete classes 0 complete)
json(verdict classes 0 candidates 0 verdict)
if(NOT state STREQUAL "run" OR NOT taken EQUAL 0 OR NOT complete STREQUAL "OFF" OR NOT verdict MATCHES "^(admitted|not judged)$")
  message(SEND_ERROR "unexpected document: ${output}")
endif()
run(CODE 0 MATCHES "not finished" "goes on with the rest" ARGS tune --shape gpt-small-64 --budget 0.001
    --out ${WORK}/short.json)
run(CODE 0 MATCHES "without --fresh" LACKS "same command again" ARGS tune --shape gpt-small-64 --budget 0.001 --fresh
    --out ${WORK}/short.json)
run(CODE 0 MATCHES "not finished" ARGS tune --op fused --threads 2 --budget 0.5 --out ${WORK}/wide.json)
string(REPLACE "\n" ";" lines "${output}")
foreach(line IN LISTS lines)
  string(LENGTH "${line}" width)
  if(line MATCHES "^[ *] [a-z]" AND width GREATER 100)
    message(SEND_ERROR "a line of ${width} columns: ${line}")
  endif()
endforeach()

# ---- where the library looks; and calls take what is there
set(environment XDG_CONFIG_HOME=${WORK}/config)
run(CODE 0 MATCHES "${WORK}/config/simdattn/profile.json" "read it at their first call" ARGS tune --shape one-key --budget 1)
count_entries(entries ${WORK}/config/simdattn/profile.json)
set(environment SATTN_PROFILE=${WORK}/named.json)
run(CODE 0 MATCHES "${WORK}/named.json" LACKS "warning" ARGS tune --shape one-key --budget 1)
count_entries(entries ${WORK}/named.json)
set(environment "")

# ---- what another build has measured is not kept
file(READ ${profile} text)
string(REGEX REPLACE "\"kernel_hash\": \"[^\"]*\"" "\"kernel_hash\": \"0123456789abcdef\"" text "${text}")
file(WRITE ${WORK}/stale.json "${text}")
foreach(time RANGE 1 10) # until there was time for a round
  run(CODE 0 MATCHES "starting over" "kernel_hash" LACKS "from the file" ARGS tune --shape one-key --budget 1
    --out ${WORK}/stale.json)
  if(EXISTS ${WORK}/stale.json.old)
    break()
  endif()
endforeach()
string(FIND "${output_and_errors}" "stale.json.old now" at)
if(at EQUAL -1 OR NOT EXISTS ${WORK}/stale.json.old)
  message(SEND_ERROR "a profile of another build was not put aside: ${output_and_errors}")
endif()
settle(${WORK}/stale.json --shape one-key)
run(CODE 0 MATCHES "from the file" LACKS "starting over" ARGS tune --shape one-key --budget 1 --out ${WORK}/stale.json)

# ---- what is no profile is not replaced
file(WRITE ${WORK}/notes.json "{\"mine\": 1}")
run(CODE 2 MATCHES "is no profile" ARGS tune --shape one-key --budget 1 --out ${WORK}/notes.json)
file(READ ${WORK}/notes.json text)
if(NOT text STREQUAL "{\"mine\": 1}")
  message(SEND_ERROR "a file of something else was replaced: ${text}")
endif()

# ---- what a profile is worth
run(CODE 0 MATCHES "d-1x330-d64" "with profile" "without profile" "median" ARGS tune --verify --shape d-1x330-d64,exp-700
    --budget 20 --out ${profile})
run(CODE 3 MATCHES "not begun" "no race was decided" LACKS "median" ARGS tune --verify
    --shape d-1x330-d64,exp-700 --budget 0.001 --out ${profile})
run(CODE 0 ARGS tune --verify --shape exp-700 --budget 20 --out ${profile} --json)
foreach(key IN ITEMS median p95 worst beyond_noise worst_beyond_noise)
  json(value with_profile ${key})
  json(value without_profile ${key})
endforeach()
json(name shapes 0 shape)
json(regret shapes 0 with_profile regret)
if(NOT name STREQUAL "exp-700" OR NOT regret MATCHES "^[0-9]")
  message(SEND_ERROR "unexpected document: ${output}")
endif()

# ---- a choice that is far slower than others is raced all the same
run(CODE 0 ARGS tune --shape d-1x330-d64 --budget 20 --out ${WORK}/slow.json)
file(READ ${WORK}/slow.json text)
string(JSON n LENGTH "${text}" entries 0 candidates)
math(EXPR last "${n} - 1")
foreach(at RANGE ${last})
  string(JSON kernels GET "${text}" entries 0 candidates ${at} kernels)
  if(kernels STREQUAL "sattn_fused_f32_scalar")
    string(JSON text SET "${text}" entries 0 candidates ${at} admitted true)
    string(JSON text SET "${text}" entries 0 candidates ${at} error 1.0)
    string(JSON text SET "${text}" entries 0 candidates ${at} error_bound 9.0)
    string(JSON text SET "${text}" entries 0 taken ${at})
    string(JSON text SET "${text}" entries 0 complete true)
    string(JSON text SET "${text}" entries 0 kept "\"\"")
  endif()
endforeach()
file(WRITE ${WORK}/slow.json "${text}")
run(CODE 0 ARGS tune --verify --shape d-1x330-d64 --budget 20 --out ${WORK}/slow.json --json)
json(kernels shapes 0 with_profile kernels)
json(decided shapes 0 decided)
if(NOT kernels STREQUAL "sattn_fused_f32_scalar" OR NOT decided STREQUAL "ON")
  message(SEND_ERROR "a slow choice was not raced: ${output}")
endif()

# ---- interrupted: what is finished is kept; killed: the file is whole
find_program(shell sh)
if(shell)
  foreach(signal IN ITEMS TERM KILL)
    set(file ${WORK}/${signal}.json)
    execute_process(COMMAND ${shell} -c "${interrupt}" sh ${signal} ${file} ${PROGRAM} tune --budget 600 --out ${file}
                    OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
    if(NOT EXISTS ${file})
      message(SEND_ERROR "SIG${signal}: nothing was written\n${out}\n${err}")
      continue()
    endif()
    count_entries(entries ${file})
    if(entries EQUAL 0)
      message(SEND_ERROR "SIG${signal}: no entry in ${file}\n${out}\n${err}")
    endif()
    if(signal STREQUAL "TERM" AND NOT (code EQUAL 143 AND out MATCHES "interrupted" AND out MATCHES "goes on with the rest"))
      message(SEND_ERROR "SIGTERM: code ${code}\n${out}\n${err}")
    endif()
    run(CODE 0 LACKS "starting over" ARGS tune --budget 0.001 --out ${file})
    count_entries(after ${file})
    if(after LESS entries)
      message(SEND_ERROR "SIG${signal}: ${entries} entries became ${after}")
    endif()
  endforeach()

  # ---- two at once, again and again: each time the file is whole, and has what both have found
  set(file ${WORK}/both.json)
  set(both [[
"$1" tune --shape one-key --fresh --budget 2 --out "$2" &
"$1" tune --shape array-64 --fresh --budget 2 --out "$2" && wait $!
]])
  foreach(time RANGE 1 5)
    file(REMOVE ${file})
    execute_process(COMMAND ${shell} -c "${both}" sh ${PROGRAM} ${file} RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE err)
    if(NOT code EQUAL 0)
      message(SEND_ERROR "two tuners at once: ${code}\n${err}")
    endif()
    count_entries(entries ${file})
    if(NOT entries EQUAL 4) # array-64 is of three classes
      message(SEND_ERROR "two tuners at once left ${entries} of four entries")
    endif()
  endforeach()
  run(CODE 0 LACKS "starting over" ARGS tune --shape one-key --budget 1 --out ${file})
endif()
