# SPDX-License-Identifier: MIT
# `simdattn explain` as a user meets it: every option, every reason, profiles that are used, stale or spoilt, and
# result files. No line depends on how long anything takes.
#
#   cmake -DPROGRAM=.../simdattn -DMAKER=.../test_profile_own -DWORK=directory "-DEXAMPLES=profile.json|..." -P explain.cmake
cmake_minimum_required(VERSION 3.20)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/home)
set(unset SATTN_PROFILE SATTN_PROFILE_STRICT XDG_CONFIG_HOME)
set(home HOME=${WORK}/home)
set(directory ${WORK})
set(flat TRUE)
set(before explain)
set(one_stream TRUE)
include(${CMAKE_CURRENT_LIST_DIR}/program_calls.cmake)

# A copy of a JSON file with other values: spoil(to from path value [path value...]), paths with slashes.
function(spoil to from)
  file(READ ${WORK}/${from} text)
  while(ARGN)
    list(POP_FRONT ARGN path value)
    string(REPLACE "/" ";" path "${path}")
    string(JSON text SET "${text}" ${path} "${value}")
  endwhile()
  file(WRITE ${WORK}/${to} "${text}")
endfunction()

execute_process(COMMAND ${PROGRAM} info --json OUTPUT_VARIABLE output)
json(level context simdattn_isa)
set(features "avx512f avx512bw avx512dq avx512vl")

# ---- wrong usage is refused with a sentence that names what is wrong and what was expected
run(CODE 2 MATCHES "which call?" "--shape" "--n-q" ARGS)
run(CODE 2 MATCHES "--jsn" "--json" ARGS --jsn)
run(CODE 2 MATCHES "a value must follow" "--shape" ARGS --shape)
run(CODE 2 MATCHES "no value is expected" "--causal=1" ARGS --shape one-key --causal=1)
run(CODE 2 MATCHES "no-such-shape" "nearest" ARGS --shape no-such-shape)
run(CODE 2 MATCHES "several names begin with 'llama'" "llama3-8b-384" ARGS --shape llama)
run(CODE 2 MATCHES "--op" "chain" "tanh" ARGS --op chain --shape one-key)
run(CODE 2 MATCHES "--d is missing" ARGS --n-q 3 --n-k 4)
run(CODE 2 MATCHES "--n-k is '-4'" "expected a number" ARGS --n-q 3 --n-k -4 --d 8)
run(CODE 2 MATCHES "--n is of arrays and gated units" "--op exp" ARGS --n 100)
run(CODE 2 MATCHES "array-4096 is an array" "--op exp" ARGS --shape array-4096)
run(CODE 2 MATCHES "one-key is an attention" "--n 4096" ARGS --op exp --shape one-key)
run(CODE 2 MATCHES "--mask is 'float'" "bool or additive" ARGS --shape one-key --mask float)
run(CODE 2 MATCHES "--window is '5'" "511,0" ARGS --shape one-key --window 5)
run(CODE 2 MATCHES "--threads is '0'" "expected" ARGS --shape one-key --threads 0)
run(CODE 2 MATCHES "avx51" "nearest: avx512" ARGS --shape one-key --isa avx51)
run(CODE 2 MATCHES "sattn_fused_f32_mmx" "nearest" ARGS --shape one-key --kernel sattn_fused_f32_mmx)
run(CODE 2 MATCHES "--plan is 'both'" "fused or chain" ARGS --shape one-key --plan both)
run(CODE 2 MATCHES "--causal means nothing" "--op exp takes an array" ARGS --op exp --n 100 --causal)
run(CODE 2 MATCHES "map-1x512-512 is a linear map" "--op linear" "--op qk takes an attention" ARGS --op qk --shape map-1x512-512)
run(CODE 2 MATCHES "--d-v: --op linear takes a linear map" ARGS --op linear --n-q 1 --n-k 2 --d 3 --d-v 4)
run(CODE 2 MATCHES "--d is missing" ARGS --op additive --n-q 1 --n-k 2)
run(CODE 2 MATCHES "--packed is of linear maps" ARGS --shape one-key --packed)
run(CODE 2 MATCHES "--plan is of whole attentions" "--op fused" ARGS --op qk --shape one-key --plan chain)
run(CODE 0 MATCHES "usage" "--results FILE" ARGS --help)

# ---- what the library refuses is refused with its own words
run(CODE 2 MATCHES "n_q_heads" ARGS --n-q 1 --n-k 9 --d 8 --heads 8 --kv-heads 3)
run(CODE 2 MATCHES "a chain does not cut its keys" ARGS --shape one-key --plan chain --key-splits 2)
run(CODE 2 MATCHES "which only a chain computes" ARGS --shape one-key --plan fused --scores)
set(environment SATTN_ISA=avx51)
run(CODE 2 MATCHES "SATTN_ISA" "avx51" "usable here" ARGS --shape one-key)
set(environment SATTN_PROFILE_STRICT=yes)
run(CODE 2 MATCHES "SATTN_PROFILE_STRICT" "expected 0 or 1" ARGS --shape one-key)
set(environment "")

# ---- without a profile: by the registry, nothing measured, every candidate named
run(CODE 0 MATCHES "sattn_attention, one-key: B=1 H=6 Tq=1 Tk=1 D=64, 1 thread" "the registry's order, since there is no profile"
    "none: there is no ${WORK}/home/.config/simdattn/profile.json" "measured nothing" "tune --shape one-key"
    "eligible, but not measured" "a chain is not taken unless it is asked for" "chain_scalar"
    LACKS "not eligible" "error / max" "default what runs" ARGS --shape one-key)
run(CODE 0 MATCHES "sattn_attention, llama3-8b-decode-2049:" ARGS --op fused --shape llama3-8b-decode)
run(CODE 0 MATCHES "like one-key:" "Tk=77" "causal window=3 bool mask" "interleaved" "2 threads" "keys<=128"
    "mask strided threads=2" ARGS --shape one-key --n-k 77 --causal --window 2,0 --mask bool --strided --threads 2)
run(CODE 0 MATCHES "window=-1,2" "window dense" ARGS --n-q 9 --n-k 9 --d 8 --window -1,2)
run(CODE 0 MATCHES "B=2 Hq=4 Hkv=2 Tq=1 Tk=9 D=8 Dv=4" ARGS --n-q 1 --n-k 9 --d 8 --d-v 4 --batch 2 --heads 4 --kv-heads 2)
run(CODE 0 MATCHES "sattn_linear, rows=1 outputs=1536 inputs=512 packed" "outputs<=2048 inputs<=512 packed"
    ARGS --op linear --n-q 1 --n-k 1536 --d 512 --packed)
run(CODE 0 MATCHES "sattn_additive, B=2 Tq=3 Tk=49 D=64" "additive few-query rows<=4 keys<=64 d<=64 dense"
    ARGS --op additive --n-q 3 --n-k 49 --d 64 --batch 2)
run(CODE 0 MATCHES "sattn_gru, rows=1 units=600" "gru n<=1024 threads=1" ARGS --op gru --n 600)
foreach(op IN ITEMS qk softmax av exp tanh sigmoid additive linear gru)
  set(call --n-q 3 --n-k 40 --d 8)
  if(op MATCHES "exp|tanh|sigmoid|gru")
    set(call --n 40)
  endif()
  run(CODE 0 MATCHES "call sattn_${op}," "runs ${op}_" "class ${op} " "${op}_scalar" LACKS "chain_" ARGS --op ${op} ${call})
endforeach()
run(CODE 0 MATCHES "exp_scalar" ARGS --op exp --shape array-4096)

run(CODE 0 MATCHES "kernels sattn_fused_f32_scalar (none of them is of this op)" ARGS --op softmax --shape one-key
    --kernel sattn_fused_f32_scalar)
run(CODE 0 LACKS "none of them" ARGS --op softmax --shape one-key --kernel sattn_fused_f32_scalar,sattn_softmax_f32_scalar)
run(CODE 0 LACKS "none of them" ARGS --shape one-key --kernel sattn_qk_f32_scalar --plan chain)
run(CODE 0 MATCHES "none of them is of this op" ARGS --shape one-key --kernel sattn_exp_f32_scalar)

# ---- the command that is named measures the very class of the call
foreach(call IN ITEMS "--shape one-key" "--op qk --shape gpt-33 --isa scalar" "--op exp --shape array-64"
        "--shape p-90x90-d64" "--n-q 40 --n-k 40 --d 64 --causal" "--op tanh --n 50"
        "--shape gpt-oss-120b-window-512" "--n-q 1 --n-k 700 --d 128 --heads 32 --kv-heads 8")
  separate_arguments(words UNIX_COMMAND "${call}")
  run(CODE 0 MATCHES "nothing for such calls" ARGS ${words} --profile none)
  expect_own_command()
endforeach()
run(CODE 0 MATCHES "no class of `./run tune` is that of this call" ARGS --n-q 9 --n-k 9 --d 8 --window -1,2)

# ---- one JSON document, which says the same
run(CODE 0 ARGS --shape one-key --json)
foreach(key IN ITEMS simdattn_cpu_model simdattn_kernel_hash simdattn_compiler)
  json(value context ${key})
endforeach()
expect_json(sattn_attention call function)
expect_json(one-key call shape)
expect_json(64 call d)
expect_json(none profile state)
expect_json("" results)
json(decision decision)
json(class class)
if(NOT decision MATCHES "^the registry's order" OR NOT class MATCHES "^attention decode ")
  message(SEND_ERROR "'${decision}' of '${class}'")
endif()
string(JSON n LENGTH "${output}" candidates)
math(EXPR last "${n} - 1")
set(n_taken 0)
foreach(at RANGE ${last})
  json(taken candidates ${at} taken)
  json(reason candidates ${at} reason)
  expect_json(0 candidates ${at} key_splits)
  string(JSON n_measured LENGTH "${output}" candidates ${at} measured)
  if(taken)
    math(EXPR n_taken "${n_taken} + 1")
  endif()
  if((taken AND NOT reason STREQUAL "") OR (NOT taken AND reason STREQUAL "") OR NOT n_measured EQUAL 0)
    message(SEND_ERROR "candidate ${at}: taken ${taken}, reason '${reason}', ${n_measured} figures in\n${output}")
  endif()
endforeach()
if(NOT n_taken EQUAL 1 OR last LESS 1)
  message(SEND_ERROR "${n_taken} of ${n} candidates are taken in\n${output}")
endif()
expect_json(ON candidates 0 taken) # what matters first
expect_json(ON candidates 0 default)

# ---- reasons: cap, name, plan, scores, key ranges
foreach(how IN ITEMS environment option)
  set(by_isa "")
  set(by_kernel "")
  if(how STREQUAL "option")
    set(by_isa --isa scalar)
    set(by_kernel --kernel sattn_fused_f32_scalar)
  else()
    set(environment SATTN_ISA=scalar)
  endif()
  if(level MATCHES "^avx")
    run(CODE 0 MATCHES "not eligible needs avx" "beyond the cap scalar" "runs fused_scalar" ARGS --shape one-key ${by_isa})
    run(CODE 2 MATCHES "sattn_fused_f32_avx2" "under the cap scalar" ARGS --shape one-key ${by_isa}
        --kernel sattn_fused_f32_avx2)
  endif()
  if(level STREQUAL "avx512")
    if(how STREQUAL "option")
      set(by_isa --isa avx2)
    else()
      set(environment SATTN_ISA=avx2)
    endif()
    run(CODE 0 MATCHES "needs ${features}, beyond the cap avx2 fused_avx512," "runs fused_avx2" ARGS --shape one-key ${by_isa})
  endif()
  if(how STREQUAL "environment")
    run(CODE 0 MATCHES "overrides ${environment}" ARGS --shape one-key)
    set(environment SATTN_KERNEL=sattn_fused_f32_scalar)
  endif()
  run(CODE 0 MATCHES "why a kernel is asked for by name" "runs fused_scalar: sattn_fused_f32_scalar"
      "not eligible sattn_fused_f32_scalar is asked for by name" "chain_scalar" ARGS --shape one-key ${by_kernel})
  set(environment "")
endforeach()
run(CODE 0 MATCHES "the other plan is asked for" "runs chain_" ARGS --shape one-key --plan chain)
run(CODE 0 MATCHES "which only a chain returns fused_" "runs chain_" "returning scores" ARGS --shape one-key --scores)
run(CODE 0 MATCHES "which a chain has not chain_" "keys in 2 ranges" ARGS --shape one-key --key-splits 2)

# ---- result files: rows of this shape, from this machine and build
execute_process(COMMAND ${PROGRAM} bench --op fused,chain --shape one-key,array-64 --isa scalar --seconds 0.01
                        --out ${WORK}/results.json OUTPUT_QUIET RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(SEND_ERROR "bench --out: exit code ${code}")
endif()
run(CODE 0 MATCHES "measured in results.json, at this very shape" " fused_scalar" "default" "chain_scalar" "u sum p|v|"
    LACKS "measured nothing" "not measured" ARGS --shape one-key --isa scalar --results results.json)
run(CODE 0 ARGS --shape one-key --isa scalar --results results.json --json)
expect_json(2 results candidates)
expect_json(results candidates 0 measured 0 source)
json(time candidates 0 measured 0 time_ns)
json(error candidates 0 measured 0 error)
json(bound candidates 0 measured 0 error_bound)
if(NOT time GREATER 0 OR error GREATER bound)
  message(SEND_ERROR "time ${time}, error ${error} of ${bound} in\n${output}")
endif()
run(CODE 0 MATCHES "results.json has no row of this shape, warm, on 1 thread" "measured nothing"
    ARGS --shape minilm-layer1 --results results.json)
run(CODE 0 MATCHES "has no row of this shape, warm, on 2 threads" ARGS --shape one-key --threads 2 --results results.json)
foreach(field IN ITEMS simdattn_cpu_model simdattn_kernel_hash simdattn_compiler)
  spoil(other.json results.json context/${field} "\"other\"")
  run(CODE 0 MATCHES "other.json is not used: ${field} is \"other\", here" "measured nothing"
      ARGS --shape one-key --isa scalar --results other.json)
endforeach()
file(WRITE ${WORK}/text.json "no JSON")
file(WRITE ${WORK}/object.json "{}")
run(CODE 2 MATCHES "missing.json" ARGS --shape one-key --results missing.json)
run(CODE 2 MATCHES "text.json" "not JSON" ARGS --shape one-key --results text.json)
run(CODE 2 MATCHES "object.json" "no result file" ARGS --shape one-key --results object.json)

# ---- no line is longer than 80 columns
foreach(call IN ITEMS "--shape;llama3-8b-decode;--threads;2" "--shape;one-key;--isa;scalar;--results;results.json"
        "--shape;gpt-oss-120b-window-512;--scores" "--op;qk;--n-q;1;--n-k;100000;--d;256;--strided")
  run(CODE 0 ARGS ${call} --profile none)
  expect_width(80)
endforeach()

# ---- a profile of this machine: its entry 0 is of the call below, and takes a chain
execute_process(COMMAND ${MAKER} make ${WORK}/good.json OUTPUT_VARIABLE out RESULT_VARIABLE code)
if(code EQUAL 77)
  message(STATUS "${out}")
  return()
endif()
set(call --n-q 40 --n-k 40 --d 8)
set(used "good.json: in use" "the profile's choice, as measured at some-shape: faster than the next by 25.0 %"
    "runs chain_scalar: sattn_qk_f32_scalar" "measured for the profile, at some-shape" "*+ chain_scalar 100 ns"
    "fused_scalar 200 ns +100.0%" "20.0% 0.50 / 4.0")
run(CODE 0 MATCHES ${used} LACKS "stale" ARGS ${call} --profile good.json)
set(environment SATTN_PROFILE=good.json)
run(CODE 0 MATCHES ${used} ARGS ${call})
run(CODE 0 MATCHES "none: SATTN_PROFILE=none" "the registry's order, since SATTN_PROFILE=none" ARGS ${call} --profile none)
set(environment XDG_CONFIG_HOME=${WORK}/config)
file(MAKE_DIRECTORY ${WORK}/config/simdattn)
file(COPY_FILE ${WORK}/good.json ${WORK}/config/simdattn/profile.json)
run(CODE 0 MATCHES "${WORK}/config/simdattn/profile.json: in use" "the profile's choice" ARGS ${call})
set(environment "")
run(CODE 0 MATCHES "the profile has nothing for such calls" "in use" "measured nothing"
    "`./run tune --shape one-key --out good.json`" ARGS --shape one-key --profile good.json)
run(CODE 0 MATCHES "was not finished" ARGS --op exp --n 1000 --profile good.json)
run(CODE 0 MATCHES "a kernel is asked for by name" "in use" "fused_scalar" ARGS ${call} --profile good.json
    --kernel sattn_fused_f32_scalar)
run(CODE 0 MATCHES "is not what options ask for" "the other plan is asked for chain_scalar (100 ns)"
    ARGS ${call} --profile good.json --plan fused)
run(CODE 0 ARGS ${call} --profile good.json --json)
expect_json("in use" profile state)
expect_json(chain_scalar candidates 0 name)
expect_json(chain candidates 0 plan)
expect_json(profile candidates 0 measured 0 source)
expect_json(some-shape candidates 0 measured 0 shape)
expect_json(24 candidates 0 measured 0 samples)
expect_json(ON candidates 0 measured 0 on_front)

# ---- candidates beyond the budget, beyond rounding, given up on; the default of a tie
set(many "")
foreach(values IN ITEMS "0:null:0.5:4.0:true:200.0" "2:null:9.0:20.0:false:50.0" "3:null:9.0:8.0:false:60.0"
        "4:null:null:null:false:70.0" "5:null:0.25:4.0:true:300.0")
  string(REPLACE ":" ";" values "${values}")
  list(GET values 0 splits)
  list(GET values 2 error)
  list(GET values 3 bound)
  list(GET values 4 admitted)
  list(GET values 5 time)
  string(APPEND many "{\"plan\": \"fused\", \"kernels\": \"sattn_fused_f32_scalar\", \"key_splits\": ${splits}, "
         "\"time_ns\": ${time}, \"time_p10_ns\": ${time}, \"time_p90_ns\": ${time}, \"samples\": 3, \"error\": ${error}, "
         "\"error_bound\": ${bound}, \"admitted\": ${admitted}},")
endforeach()
string(REGEX REPLACE ",$" "" many "${many}")
spoil(many.json good.json entries/0/candidates "[${many}]" entries/0/taken 0 entries/0/kept "\"tie\"" entries/0/max_error 2.5
      entries/0/tainted true)
run(CODE 0 MATCHES "a tie within 25.0 %, spread 1.0 %" "vs taken p10-p90 error / max" "*+ fused_scalar 200 ns ~0.0% 0.50 / 4.0 default"
    "+ fused_scalar in 5 key ranges 300 ns +50.0%" "its error of 9 is beyond the profile's budget, 2.5 fused_scalar in 2 key ranges (50.0 ns)"
    "its error of 9 is beyond what rounding explains, 8 fused_scalar in 3 key ranges (60.0 ns)"
    "its first calls were too slow for more to be asked of it fused_scalar in 4 key ranges (70.0 ns)" "key ranges, into which"
    ARGS ${call} --isa scalar --profile many.json)
run(CODE 0 ARGS ${call} --isa scalar --profile many.json --json)
string(JSON n LENGTH "${output}" candidates)
math(EXPR last "${n} - 1")
foreach(at RANGE ${last})
  json(splits candidates ${at} key_splits)
  json(eligible candidates ${at} eligible)
  if((splits MATCHES "[234]" AND eligible) OR (splits MATCHES "[05]" AND NOT eligible AND NOT level MATCHES "^avx"))
    message(SEND_ERROR "${splits} key ranges: eligible ${eligible} in\n${output}")
  endif()
endforeach()

# ---- stale: each field, and several at once; nothing fails, and nothing else changes
file(READ ${WORK}/good.json good)
string(JSON n LENGTH "${good}" identity)
math(EXPR last "${n} - 1")
foreach(at RANGE ${last})
  string(JSON field MEMBER "${good}" identity ${at})
  string(JSON type TYPE "${good}" identity ${field})
  set(there 77)
  set(value 77)
  if(type STREQUAL "STRING")
    set(there elsewhere)
    set(value "\"elsewhere\"")
  endif()
  spoil(stale.json good.json identity/${field} "${value}")
  run(CODE 0 MATCHES "stale.json: stale, of another machine or build ${field}: there ${there}, here"
      "no profile is in use: identity.${field} is" "measured nothing" ARGS ${call} --profile stale.json)
  run(CODE 0 ARGS ${call} --profile stale.json --json)
  expect_json(stale profile state)
  expect_json(${field} profile differences 0 field)
  expect_json(${there} profile differences 0 there)
endforeach()
spoil(stale.json good.json identity/kernel_hash "\"elsewhere\"" identity/cpus 77)
run(CODE 0 MATCHES "cpus: there 77, here" "kernel_hash: there elsewhere, here" ARGS ${call} --profile stale.json)
set(environment SATTN_PROFILE=stale.json)
run(CODE 0 MATCHES "stale.json: stale" "why a kernel is asked for by name" ARGS ${call} --kernel sattn_fused_f32_scalar)
set(environment SATTN_PROFILE=stale.json SATTN_PROFILE_STRICT=1)
run(CODE 2 MATCHES "identity.cpus" ARGS ${call})
set(environment "")

# ---- no profile at all: asked for here it is an error, found by the library it is told of
spoil(time.json good.json entries/0/candidates/1/time_ns -4)
foreach(file IN ITEMS missing.json text.json object.json time.json home)
  set(reason_missing.json "cannot be read")
  set(reason_text.json "not JSON")
  set(reason_object.json "identity")
  set(reason_time.json "entries[0].candidates[1].time_ns is -4")
  set(reason_home "it is a directory")
  run(CODE 2 MATCHES "${file}" "${reason_${file}}" ARGS ${call} --profile ${file})
  set(environment SATTN_PROFILE=${file})
  run(CODE 0 MATCHES "profile ${file}: not used" "${reason_${file}}" ARGS ${call})
  run(CODE 0 MATCHES "profile ${file}: not used" "${reason_${file}}" ARGS ${call} --kernel sattn_fused_f32_scalar)
  run(CODE 0 ARGS ${call} --json)
  expect_json(unusable profile state)
  set(environment "")
endforeach()

# ---- a kernel that this build does not have
spoil(kernel.json good.json entries/0/candidates/1/kernels "\"sattn_qk_f32_mmx,sattn_softmax_f32_scalar,sattn_av_f32_scalar\"")
run(CODE 0 MATCHES "kernel.json: in use with 1 class, 1 not finished, but" "sattn_qk_f32_mmx" "the profile has nothing for such calls"
    ARGS ${call} --profile kernel.json)

# ---- profiles that are kept as examples are of this machine and build, or stale; that each entry is legal,
# profile.example sees
string(REPLACE "|" ";" EXAMPLES "${EXAMPLES}")
foreach(example IN LISTS EXAMPLES)
  run(CODE 0 ARGS --shape causal-384x128 --profile ${example} --json)
  json(state profile state)
  if(state STREQUAL "stale")
    json(field profile differences 0 field)
    run(CODE 0 MATCHES "stale, of another machine or build ${field}: there" ARGS --shape causal-384x128 --profile ${example})
  elseif(NOT state STREQUAL "in use")
    message(SEND_ERROR "${example} is ${state}")
  endif()
endforeach()
