# SPDX-License-Identifier: MIT
# The program as a user meets it: exit codes, messages, and what its JSON holds.
#
#   cmake -DPROGRAM=.../simdattn -DWORK=... -DDATASET=... -P program.cmake
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/program_calls.cmake)

# ---- wrong usage is refused with a sentence that names what is wrong
run(CODE 2 MATCHES "fly" ARGS fly)
run(CODE 2 MATCHES "--prest" "--preset" ARGS bench --prest quick)
run(CODE 2 MATCHES "huge" "quick" ARGS bench --preset huge)
run(CODE 2 MATCHES "atention" "--op" ARGS bench --op atention)
run(CODE 2 MATCHES "no-such-shape" ARGS bench --shape no-such-shape)
run(CODE 2 MATCHES "avx51" ARGS bench --isa avx51 --shape one-key)
run(CODE 2 MATCHES "sattn_fused_f32_mmx" ARGS bench --kernel sattn_fused_f32_mmx --shape one-key)
run(CODE 2 MATCHES "--jsn" ARGS info --jsn)
run(CODE 2 MATCHES "--json" ARGS bench --list --json)
run(CODE 3 MATCHES "nothing" ARGS bench --shape one-key --benchmark_filter=matches_nothing_at_all)
run(CODE 3 MATCHES "nothing" ARGS bench --op exp --shape one-key) # arrays are for exp, no attention is
run(CODE 3 MATCHES "nothing" ARGS bench --op qk --shape array-64)
run(CODE 3 MATCHES "nothing" ARGS bench --op softmax --kernel sattn_qk_f32_scalar)
run(CODE 2 MATCHES "lengths.npy" ARGS bench --shape minilm-layer1 --dataset ${WORK})
run(CODE 2 MATCHES "no/such/place" ARGS bench --shape one-key --seconds 0.01 --out no/such/place/x.json)
run(CODE 0 MATCHES "usage" ARGS --help)
run(CODE 0 MATCHES "usage" ARGS bench --help)

# ---- a wrong environment is an error of every call
set(environment SATTN_ISA=avx51)
run(CODE 2 MATCHES "avx51" "usable here" ARGS bench --shape one-key --seconds 0.01)
set(environment "")

# ---- info
run(CODE 0 MATCHES "sattn_fused_f32_scalar" "OS state" ARGS info)
run(CODE 0 ARGS info --json)
string(JSON type ERROR_VARIABLE error TYPE "${output}")
if(NOT type STREQUAL "OBJECT")
  message(SEND_ERROR "info --json is not one JSON object: ${error}")
endif()

# ---- bench: one document, finite numbers or null, our context, the rows that were asked for
run(CODE 0 MATCHES "sattn_fused_f32_scalar" ARGS bench --shape one-key --seconds 0.01)
run(CODE 0 ARGS bench --shape one-key --seconds 0.01 --json --out ${WORK}/one-key.json)
foreach(key IN ITEMS simdattn_cpu_model simdattn_isa simdattn_compiler simdattn_kernel_flags simdattn_flush_to_zero
        simdattn_slower_than_autovec)
  json(value context ${key})
endforeach()
string(JSON rows LENGTH "${output}" benchmarks)
if(rows EQUAL 0)
  message(SEND_ERROR "no rows in ${output}")
endif()
json(name benchmarks 0 name)
if(NOT name MATCHES "^sattn_fused_f32_[a-z0-9_]+/one-key/[a-z0-9]+/warm/t1$")
  message(SEND_ERROR "unexpected row name ${name}")
endif()
math(EXPR last "${rows} - 1") # a row's rounds come first, its median last
foreach(key IN ITEMS real_time time_unit simdattn_share simdattn_err simdattn_err_bound)
  json(value benchmarks ${last} ${key})
endforeach()
foreach(key IN ITEMS windows tainted switches throttled steal_ticks shared_rounds kept)
  json(value benchmarks ${last} simdattn_taint ${key})
endforeach()
file(READ ${WORK}/one-key.json output)
json(name benchmarks 0 name)
file(GLOB leftovers ${WORK}/one-key.json?*)
if(leftovers)
  message(SEND_ERROR "temporary files were left: ${leftovers}")
endif()

run(CODE 0 MATCHES "minilm-layer1" ARGS bench --shape minilm-layer1 --seconds 0.01 --dataset ${DATASET}
    --isa scalar)

# ---- every op: its variants are verified and measured, and say which op they are
set(shape_fused one-key)
set(shape_chain one-key)
set(shape_qk lines-64x49)
set(shape_softmax lines-64x49)
set(shape_av lines-64x49)
set(shape_exp array-1000)
set(shape_tanh array-1000)
set(shape_sigmoid array-1000)
set(shape_additive align-1x10-d512)
set(shape_linear map-1x512-512)
set(shape_gru gates-1x512)
foreach(op IN ITEMS fused chain qk softmax av exp tanh sigmoid additive linear gru)
  run(CODE 0 MATCHES "none failed" "_scalar" "of bound" ARGS bench --op ${op} --shape ${shape_${op}} --seconds 0.01)
  run(CODE 0 ARGS bench --op ${op} --shape ${shape_${op}} --seconds 0.01 --json)
  json(sleef context simdattn_sleef_version)
  string(JSON rows LENGTH "${output}" benchmarks)
  math(EXPR last "${rows} - 1")
  foreach(key IN ITEMS simdattn_op simdattn_share simdattn_bound simdattn_peak_unit simdattn_err simdattn_err_unit
          simdattn_bytes simdattn_data)
    json(value benchmarks ${last} ${key})
    set(${key} "${value}")
  endforeach()
  if(NOT simdattn_op STREQUAL op)
    message(SEND_ERROR "a row of op ${op} says that it is of ${simdattn_op}")
  endif()
  run(CODE 0 MATCHES "_scalar/" ARGS bench --op ${op} --list)
endforeach()

# ---- packed weights, of every set of a cold row
run(CODE 0 MATCHES "linear, map-1x512-512-packed, cold" "inputs=512 packed" "none failed"
    ARGS bench --shape map-1x512-512-packed --cache cold --isa scalar --seconds 0.01)

# ---- ops together, presets by list, hard data beside easy
run(CODE 0 MATCHES "fused and chain, one-key" "vs fused" ARGS bench --op fused,chain --shape one-key --seconds 0.01)
run(CODE 0 MATCHES "chain_scalar" ARGS bench --kernel chain_scalar --shape one-key --seconds 0.01)
run(CODE 0 MATCHES "softmax, lines-4x1024" "softmax, square-128-d64" ARGS bench --op softmax --list)
run(CODE 0 MATCHES "/normal/warm/t1" "/denormal/" "/rising/" "/one-hot/" "/bias-1e30/" "/masked90/"
    ARGS bench --preset data --list)
run(CODE 0 MATCHES "tanh, array-4m" "qk, vit-b16-197" "av, one-key" "additive, align-32x1000-d512" "linear, map-197x768-768" "gru, gates-32x512"
    ARGS bench --preset full --list)
run(CODE 0 MATCHES "slowdown" "denormal" ARGS bench --preset data --isa scalar --op av --seconds 0.01
    --benchmark_filter=square-512-d64)

# ---- the lecture: decoders with all parts of their step, layers, scores of both kinds
run(CODE 0 MATCHES "decoder, seq2seq-10, warm" "T=4096 states of 512, GRU of 512 units, 10000 words" "decoder, caption-14x14,"
    "decoder, caption-7x7-2048, warm" "T=49 states of 2048, GRU of 512 units, 10000 words"
    "additive, align-1x1000-d512" "qk, dot-1x1000-d512" "fused, dot-32x1000-d512"
    "decoder_scalar/seq2seq-1000/" "decoder_alignment_scalar/" "decoder_softmax_scalar/" "decoder_context_scalar/"
    "decoder_update_scalar/" "decoder_output_scalar/" "decoder_embedding_scalar/"
    ARGS bench --preset lecture --list)
run(CODE 0 MATCHES "decoder, seq2seq-10," ARGS bench --preset full --list)
run(CODE 0 ARGS bench --preset models --list)
string(FIND "${output}" "seq2seq-10" at)
if(NOT at EQUAL -1)
  message(SEND_ERROR "a decoder among models: ${output}")
endif()
run(CODE 3 MATCHES "nothing" ARGS bench --op decoder --cache cold --list)
run(CODE 2 MATCHES "seq2seq-10 is a decoder" "parts" ARGS explain --shape seq2seq-10)
run(CODE 0 MATCHES "decoder, seq2seq-10, warm" "  ISA " " alignment " " context " " embedding " " rest" "  scalar "
    "decoder, caption-7x7-1024, warm" "none failed"
    ARGS bench --preset lecture --op decoder --isa scalar --shape seq2seq-10,caption-7x7-1024 --seconds 0.01)
run(CODE 0 ARGS bench --shape seq2seq-10 --isa scalar --seconds 0.01 --json)
string(JSON rows LENGTH "${output}" benchmarks)
math(EXPR last "${rows} - 1")
set(parts "")
foreach(at RANGE ${last})
  string(JSON op ERROR_VARIABLE error GET "${output}" benchmarks ${at} simdattn_op)
  if(error) # a round
    continue()
  endif()
  string(JSON part ERROR_VARIABLE error GET "${output}" benchmarks ${at} simdattn_part_of_step)
  if(error)
    foreach(key IN ITEMS simdattn_gflop_per_s simdattn_share simdattn_words simdattn_kernels)
      json(value benchmarks ${at} ${key})
    endforeach()
    list(APPEND parts "${op}")
    continue()
  endif()
  list(APPEND parts "${op} ${part}")
  foreach(key IN ITEMS simdattn_of_step simdattn_of_step_p10 simdattn_of_step_p90 simdattn_of_step_n simdattn_time_ns simdattn_err)
    json(value benchmarks ${at} ${key})
  endforeach()
  json(share benchmarks ${at} simdattn_of_step)
  if(NOT share GREATER 0)
    message(SEND_ERROR "${part} is ${share} of a step")
  endif()
endforeach()
if(NOT parts STREQUAL "decoder;decoder embedding;decoder alignment;decoder softmax;decoder context;decoder update;decoder output")
  message(SEND_ERROR "parts of a step: ${parts}")
endif()
run(CODE 0 ARGS info --json)
json(level context simdattn_isa)
if(NOT level STREQUAL scalar)
  run(CODE 0 MATCHES "self, self-bert-base-384" "self, self-gpt2-small-1024" ARGS bench --preset lecture --list)
  run(CODE 0 MATCHES "self, self-vit-b16-197" "self_${level}" "none failed"
      ARGS bench --shape self-vit-b16-197 --isa ${level} --seconds 0.01)
  run(CODE 0 MATCHES "general_additive_${level}/general-32x1000-d512/" "general_scaled_dot_${level}/" "general_bilinear_${level}/"
      "attend_${level}/attend-197x197-d768/" "attend_${level}/attend-32x1000-d512/" ARGS bench --preset lecture --list)
  run(CODE 0 MATCHES "general, general-32x1000-d512" "Tq=32 Tk=1000 D=512" "general_additive_${level}" "general_scaled_dot_${level}"
      "general_bilinear_${level}" "none failed" ARGS bench --shape general-32x1000-d512 --isa ${level} --seconds 0.01)
  run(CODE 0 MATCHES "attend, attend-197x197-d768" "Tq=197 Tk=197 D=768" "attend_${level}" "none failed"
      ARGS bench --shape attend-197x197-d768 --isa ${level} --seconds 0.01)
endif()
# Strict scalar code has rows of one query.
run(CODE 0 MATCHES "general_additive_scalar" "general_scaled_dot_scalar" "general_bilinear_scalar" "none failed"
    ARGS bench --op general --shape general-1x49-d512 --isa scalar --seconds 0.01)
run(CODE 0 MATCHES "attend_scalar" "none failed" ARGS bench --op attend --shape attend-1x49-d512 --isa scalar --seconds 0.01)
run(CODE 3 MATCHES "nothing" ARGS bench --shape attend-32x1000-d512 --isa scalar --list)
run(CODE 2 MATCHES "attend-1x49-d512 is an attention layer" "parts" ARGS explain --shape attend-1x49-d512)

# ---- what a call adds to its kernel: four ways, verified; nothing is said of how long they take
run(CODE 0 MATCHES "call, call-16-d16, warm" "call-16-d16-causal" "call-16-d16-heads8" "call-64-d64"
    ARGS bench --op call --list)
run(CODE 0 MATCHES "kernel_scalar" "plan_run_scalar" "attention_scalar" "profiled_scalar" "over kernel" "± half of" "runs sattn_fused_f32_scalar"
    "none failed" ARGS bench --op call --isa scalar --seconds 0.01)
foreach(without IN ITEMS "vs scalar" "vs autovec")
  string(FIND "${output}" "${without}" at)
  if(NOT at EQUAL -1)
    message(SEND_ERROR "\"${without}\" in ${output}")
  endif()
endforeach()
foreach(shape IN ITEMS vit-b32-50 causal-384x128 codegemma-decode-257 gemma2-9b-decode-256) # last rows, hidden keys, a mask
  run(CODE 0 MATCHES "none failed" ARGS bench --op call --shape ${shape} --benchmark_filter=-scalar --seconds 0.01)
endforeach()
run(CODE 0 ARGS bench --op call --shape call-16-d16 --isa scalar --seconds 0.01 --json)
string(JSON rows LENGTH "${output}" benchmarks)
math(EXPR last "${rows} - 1")
set(ways "")
foreach(at RANGE ${last})
  string(JSON op ERROR_VARIABLE error GET "${output}" benchmarks ${at} simdattn_op)
  if(error) # a round
    continue()
  endif()
  json(kernel benchmarks ${at} simdattn_kernel)
  string(JSON n ERROR_VARIABLE error GET "${output}" benchmarks ${at} simdattn_over_kernel_ns_n)
  list(APPEND ways "${op}:${kernel}:${error}")
  if(NOT error)
    foreach(key IN ITEMS simdattn_over_kernel_ns simdattn_over_kernel_ns_p10 simdattn_over_kernel_ns_p90
            simdattn_over_kernel_ns_low simdattn_over_kernel_ns_high)
      json(value benchmarks ${at} ${key})
    endforeach()
    if(NOT n GREATER 0)
      message(SEND_ERROR "${n} differences in ${output}")
    endif()
  endif()
endforeach()
if(NOT ways MATCHES "^call:kernel_scalar:[^:;]+;call:plan_run_scalar:NOTFOUND;call:attention_scalar:NOTFOUND;call:profiled_scalar:NOTFOUND$")
  message(SEND_ERROR "ways to call: ${ways}")
endif()
# Kernels are called again with the arguments of one call: on one thread, warm, with rows that they finish.
run(CODE 3 MATCHES "nothing" ARGS bench --op call --cache cold --list)
run(CODE 3 MATCHES "nothing" ARGS bench --op call --shape gpt-oss-decode-7680 --list)
run(CODE 0 MATCHES "attention_scalar/call-64-d64/" ARGS bench --preset full --list)
string(FIND "${output}" "attention_scalar/one-key/" at) # not on every shape
if(NOT at EQUAL -1)
  message(SEND_ERROR "calls of other shapes in preset full")
endif()

# ---- the row of the dispatcher's choice is a call that names no kernel: 50 rows leave some for another
run(CODE 0 ARGS info --json)
json(level context simdattn_isa)
if(level MATCHES "^avx")
  set(both "sattn_fused_f32_${level},sattn_fused_f32_${level}_decode")
  run(CODE 0 MATCHES "* sattn_fused_f32_${level} " "runs ${both}" ARGS bench --shape vit-b32-50 --isa ${level} --seconds 0.01)
  run(CODE 0 MATCHES "  sattn_fused_f32_${level} " ARGS bench --shape vit-b32-50 --seconds 0.01
      --kernel sattn_fused_f32_${level})
  string(FIND "${output}" "runs " at)
  if(NOT at EQUAL -1)
    message(SEND_ERROR "a kernel asked for by name is not alone: ${output}")
  endif()
endif()

# ---- threads: as many as there are CPUs
run(CODE 2 MATCHES "--threads" "expected" ARGS bench --threads 0)
run(CODE 2 MATCHES "--threads" "expected" ARGS bench --threads 1,1)
run(CODE 2 MATCHES "--threads" "expected" ARGS bench --threads 1,two)
run(CODE 0 ARGS info --json)
json(cpus context simdattn_cpus_affinity)
json(openmp context simdattn_openmp)
math(EXPR too_many "${cpus} + 1")
if(openmp STREQUAL "none")
  run(CODE 2 MATCHES "--threads" "OpenMP" ARGS bench --threads 2 --shape one-key)
elseif(too_many LESS_EQUAL 256)
  run(CODE 2 MATCHES "${too_many} threads" "${cpus} CPU" ARGS bench --threads ${too_many} --shape one-key)
endif()

# ---- goals: the table and its document; what it runs is not for options to choose
foreach(option IN ITEMS --op=qk --kernel=sattn_qk_f32_scalar --cache=cold --threads=1)
  run(CODE 2 MATCHES "--preset limits" "does not go with it" ARGS bench --preset limits ${option})
endforeach()
if(level MATCHES "^avx")
  run(CODE 0 MATCHES "fused_avx2/square-1024-d64/large30/warm/t1" "softmax_avx2/lines-256x197/" "/cold/t1"
      "goal: ViT 50 x 50, D=64: 60/70 at avx512, 62/70 at avx2, in %"
      ARGS bench --preset limits --list)
  run(CODE 0 MATCHES "workload" "goal" "mark" "62/70" "ViT 50 x 50, D=64" "% fma" "avx2: " "none failed"
      ARGS bench --preset limits --isa avx2 --seconds 0.01 --benchmark_filter=/vit-b32-50/)
  run(CODE 0 ARGS bench --preset limits --seconds 0.01 --benchmark_filter=avx2/lines-1024x49/ --json)
  json(complete context simdattn_complete)
  json(arguments context simdattn_arguments)
  if(NOT complete STREQUAL "ON" OR NOT arguments MATCHES "^--preset limits --seconds 0.01 ")
    message(SEND_ERROR "complete is ${complete}, of ${arguments}")
  endif()
  string(JSON goals LENGTH "${output}" context simdattn_goals)
  set(found FALSE)
  math(EXPR last "${goals} - 1")
  foreach(at RANGE ${last})
    foreach(key IN ITEMS workload isa unit goal stretch value value_p10 value_p90 value_low value_high value_n bound mark
            undecided wide why row kernels clock_ghz beside)
      json(${key} context simdattn_goals ${at} ${key})
    endforeach()
    if(row MATCHES "^softmax_avx2/lines-1024x49/")
      set(found TRUE)
      if(NOT unit STREQUAL "ps/element" OR NOT value GREATER 0 OR NOT value_n GREATER 0)
        message(SEND_ERROR "${value} ${unit} of ${value_n} rounds in ${row}")
      endif()
    endif()
    if(NOT mark MATCHES "^(goal|stretch|below|absent)$")
      message(SEND_ERROR "mark '${mark}' of ${workload}")
    endif()
  endforeach()
  if(NOT found)
    message(SEND_ERROR "no row of the filter in ${output}")
  endif()
else()
  run(CODE 3 MATCHES "nothing was run" ARGS bench --preset limits)
endif()

# ---- a run that is interrupted ends with what it has; what was finished is written, even if it is killed
find_program(shell sh)
if(shell)
  foreach(signal IN ITEMS TERM KILL)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/interrupted.json)
    file(REMOVE ${file})
    execute_process(COMMAND ${shell} -c "${interrupt}" sh ${signal} ${file} ${PROGRAM} bench --isa scalar --seconds 0.2
                            --preset models --out ${file}
                    OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
    if(NOT EXISTS ${file})
      message(SEND_ERROR "SIG${signal}: nothing was written\n${out}\n${err}")
      continue()
    endif()
    file(READ ${file} output)
    json(complete context simdattn_complete)
    json(name benchmarks 0 name)
    if(NOT complete STREQUAL "OFF")
      message(SEND_ERROR "SIG${signal}: complete is ${complete}")
    endif()
    if(signal STREQUAL "TERM" AND NOT (code EQUAL 143 AND out MATCHES "interrupted, [0-9]+ not run; results in"))
      message(SEND_ERROR "SIGTERM: code ${code}\n${out}\n${err}")
    endif()
  endforeach()
endif()

# ---- peers: rows of their own; one that is not here says so and is no failure
run(CODE 0 MATCHES "openblas/lines-64x49/attention/warm/t1" "onednn/" "pytorch/" "onnxruntime/"
    ARGS bench --op softmax --shape lines-64x49 --peers --list)
if(level MATCHES "^avx") # whatever this CPU has beyond AVX2, peers are kept from it too
  set(environment SATTN_ISA=avx2)
  set(row "openblas/")
  if(level STREQUAL "avx512")
    set(row "openblas_avx2/")
  endif()
  run(CODE 0 MATCHES "${row}" ARGS bench --op softmax --shape lines-64x49 --peers --list)
  # Few rows that fill a tile of AVX2: what the dispatcher takes for them is there, and marked.
  run(CODE 0 MATCHES "* sattn_fused_f32_avx2 " ARGS bench --shape rows-16x512-d64 --seconds 0.01)
  # And so is what it takes for packed weights, for which eight rows are many.
  run(CODE 0 MATCHES "* sattn_linear_f32_avx2 " ARGS bench --shape map-8x1536-512-packed --seconds 0.01)
  set(environment "")
endif()
run(CODE 0 MATCHES "openblas" "onednn" "none failed" ARGS bench --op softmax --shape lines-64x49 --peers --seconds 0.01)
run(CODE 0 MATCHES "pytorch/seq2seq-10/normal/warm/t1" "pytorch/self-vit-b16-197/" "pytorch/attend-1x49-d512/"
    "pytorch_additive/general-1x49-d512/" "pytorch_scaled_dot/general-1x49-d512/" "pytorch_bilinear/general-1x49-d512/"
    ARGS bench --shape seq2seq-10,self-vit-b16-197,general-1x49-d512,attend-1x49-d512 --peers --list)
string(FIND "${output}" "openblas" at) # has no layers
if(NOT at EQUAL -1)
  message(SEND_ERROR "a peer without layers: ${output}")
endif()
run(CODE 0 MATCHES "pytorch" "none failed"
    ARGS bench --shape seq2seq-10,caption-7x7-1024,attend-1x49-d512 --isa ${level} --peers --seconds 0.01)
# Each alignment of a layer is set against a peer's way of the same alignment.
run(CODE 0 ARGS bench --shape general-1x49-d512 --isa ${level} --peers --seconds 0.01 --json)
string(JSON rows LENGTH "${output}" benchmarks)
math(EXPR last "${rows} - 1")
set(ways "") # that PyTorch was measured on, if it is here
set(met "")
foreach(at RANGE ${last})
  json(name benchmarks ${at} name)
  string(REGEX MATCH "additive|scaled_dot|bilinear" align "${name}")
  if(name MATCHES "^pytorch_.*_median$")
    list(APPEND ways ${align})
  endif()
  string(JSON peer ERROR_VARIABLE error GET "${output}" benchmarks ${at} simdattn_best_peer)
  if(error)
    continue()
  endif()
  list(APPEND met ${align})
  if(NOT align OR NOT peer MATCHES "^pytorch_${align}")
    message(SEND_ERROR "${name} is set against ${peer}")
  endif()
endforeach()
list(SORT ways)
list(SORT met)
if(NOT ways STREQUAL met)
  message(SEND_ERROR "PyTorch's ways are '${ways}', those that rows are set against '${met}'")
endif()
