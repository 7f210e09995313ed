# SPDX-License-Identifier: MIT
# `simdattn check` as a user meets it: exit codes, baselines that were tampered with, files that
# cannot be written, and how much a run compares.
#
#   cmake -DPROGRAM=.../simdattn -DWORK=... -P check.cmake
cmake_minimum_required(VERSION 3.20)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# run(CODE n [MATCHES text...] ARGS arguments...): `check` ends with code n and prints each text.
function(run)
  cmake_parse_arguments(expect "" "CODE" "MATCHES;ARGS" ${ARGN})
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=SATTN_ISA --unset=SATTN_KERNEL --unset=SATTN_LOG
                          ${PROGRAM} check ${expect_ARGS}
                  OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
  set(output "${out}" PARENT_SCOPE)
  list(JOIN expect_ARGS " " shown)
  if(NOT code EQUAL expect_CODE)
    message(SEND_ERROR "check ${shown}: exit code ${code} instead of ${expect_CODE}\n${out}\n${err}")
  endif()
  foreach(text IN LISTS expect_MATCHES)
    string(FIND "${out}\n${err}" "${text}" at)
    if(at EQUAL -1)
      message(SEND_ERROR "check ${shown}: no \"${text}\" in\n${out}\n${err}")
    endif()
  endforeach()
endfunction()

# ---- wrong usage
run(CODE 0 MATCHES "usage" "bias-1e30" "few-gqa" ARGS --help)
run(CODE 2 MATCHES "--basline" "--baseline" ARGS --basline x)
run(CODE 2 MATCHES "huge" "quick" ARGS --preset huge)
run(CODE 2 MATCHES "softmx" "softmax" ARGS --op softmx)
run(CODE 2 MATCHES "avx51" ARGS --isa avx51)
run(CODE 2 MATCHES "sattn_exp_f32_mmx" ARGS --kernel sattn_exp_f32_mmx)
run(CODE 2 MATCHES "squar-49" "square-49" ARGS --shape squar-49)
run(CODE 2 MATCHES "larg8" "large8" ARGS --data larg8)
run(CODE 2 MATCHES "--seed" ARGS --seed -1)
run(CODE 2 MATCHES "--seed" ARGS --seed 1x)
run(CODE 2 MATCHES "value must follow" ARGS --baseline)
run(CODE 2 MATCHES "lengths.npy" ARGS --op fused --isa scalar --shape minilm-layer1 --dataset ${WORK})
run(CODE 3 MATCHES "nothing" ARGS --op fused --isa scalar --shape tile --data unit)
run(CODE 3 MATCHES "nothing" ARGS --op exp --kernel chain_scalar)

# ---- a small run, and its baseline
set(small --op exp,softmax --isa scalar --shape n8,n200,odd --data unit,any,normal,large8)
set(good ${WORK}/good.json)
run(CODE 0 MATCHES "sattn_exp_f32_scalar" "sattn_softmax_f32_scalar" "good" "2 kernels compared, 0 skipped; 6 entries"
    ARGS ${small})
run(CODE 0 MATCHES "written to" ARGS ${small} --write-baseline ${good})
run(CODE 0 MATCHES "6 entries compared, 0 grew, 0 missing, 0 new" "same environment"
    ARGS ${small} --baseline ${good})
run(CODE 0 ARGS ${small} --baseline=${good} --json)
string(JSON compared ERROR_VARIABLE error GET "${output}" baseline compared)
if(NOT compared EQUAL 6)
  message(SEND_ERROR "--json: ${compared} compared (${error}) in\n${output}")
endif()
file(GLOB leftovers ${WORK}/good.json?*)
if(leftovers)
  message(SEND_ERROR "temporary files were left: ${leftovers}")
endif()
file(READ ${good} text)

# doctored(name CODE n [MATCHES text...] [ARGS arguments...] FROM regex TO text): the baseline with a
# replacement that must have changed something. '<' and '>' stand for brackets, which would hold a
# CMake list together.
function(doctored name)
  cmake_parse_arguments(change "" "CODE;FROM;TO" "MATCHES;ARGS" ${ARGN})
  string(REPLACE "<" "\\[" from "${change_FROM}")
  string(REPLACE ">" "\\]" from "${from}")
  string(REPLACE "<" "[" to "${change_TO}")
  string(REPLACE ">" "]" to "${to}")
  string(REGEX REPLACE "${from}" "${to}" changed "${text}")
  if(changed STREQUAL text)
    message(SEND_ERROR "${name}: nothing was replaced")
  endif()
  file(WRITE ${WORK}/${name}.json "${changed}")
  if(NOT change_ARGS)
    set(change_ARGS ${small})
  endif()
  run(CODE ${change_CODE} MATCHES ${change_MATCHES} ARGS ${change_ARGS} --baseline ${WORK}/${name}.json)
endfunction()

# large8 of softmax has a worst error above 1 unit
set(number "[0-9.e+-]+")
set(numbers "<${number},${number},${number}>")
doctored(stored_higher CODE 0 MATCHES "0 grew" FROM "\"large8\":<${number}" TO "\"large8\":<1000.0")
doctored(stored_lower CODE 1 MATCHES "GREW" "shape odd, data large8: worst error" "1 grew"
         FROM "\"large8\":<${number}" TO "\"large8\":<0.0")
doctored(nan CODE 2 MATCHES "nan.json" FROM "\"large8\":<${number}" TO "\"large8\":<NaN")
doctored(infinite CODE 2 MATCHES "infinite.json" FROM "\"large8\":<${number}" TO "\"large8\":<1e999")
doctored(null CODE 2 MATCHES "large8: expected an array" FROM "\"large8\":<${number}" TO "\"large8\":<null")
doctored(negative CODE 2 MATCHES "large8: expected an array" FROM "\"large8\":<${number}" TO "\"large8\":<-1")
doctored(text CODE 2 MATCHES "large8: expected an array" FROM "\"large8\":${numbers}" TO "\"large8\":\"small\"")
doctored(too_short CODE 2 MATCHES "large8: expected an array" FROM "\"large8\":${numbers}" TO "\"large8\":<1,2>")
doctored(twice CODE 2 MATCHES "duplicate" FROM "\"large8\":" TO "\"normal\":")
doctored(two_entries CODE 2 MATCHES "in two entries" FROM "\"shape\":\"n200\"" TO "\"shape\":\"n8\"")
doctored(truncated CODE 2 MATCHES "truncated.json" FROM "\"large8\".*" TO "")
doctored(no_schema CODE 2 MATCHES "no schema" FROM "\"schema\"" TO "\"scheme\"")
doctored(no_seed CODE 2 MATCHES "seed" FROM "\"seed\": 1" TO "\"seed\": \"one\"")
doctored(other_schema CODE 3 MATCHES "not comparable" FROM "simdattn-accuracy" TO "other-accuracy")
doctored(other_version CODE 3 MATCHES "version 2" FROM "\"version\": 1" TO "\"version\": 2")
doctored(other_seed CODE 3 MATCHES "seed 2" FROM "\"seed\": 1" TO "\"seed\": 2")
doctored(missing CODE 1 MATCHES "MISSING" "shape odd, data unit: stored" "1 missing"
         FROM "\"large8\":" TO "\"unit\":<0,0,0>,\"large8\":")
doctored(new CODE 0 MATCHES "1 new" "new      sattn_softmax_f32_scalar" FROM ",?\"large8\":${numbers}" TO "")
doctored(absent CODE 0 MATCHES "absent   sattn_exp_f32_mmx: 4 entries" "4 new"
         FROM "\"kernel\":\"sattn_exp_f32_scalar\"" TO "\"kernel\":\"sattn_exp_f32_mmx\"")
doctored(nothing_in_common CODE 3 MATCHES "0 entries compared" FROM "_f32_scalar\"" TO "_f32_mmx\"")
doctored(environment CODE 0 MATCHES "compiler: \"otherc 1\" there" FROM "\"compiler\":\"[^\"]*\"" TO
         "\"compiler\":\"otherc 1\"")
run(CODE 0 MATCHES "2 entries compared" "4 skipped" ARGS --op softmax --isa scalar --shape odd
    --data normal,large8 --baseline ${good})
run(CODE 3 MATCHES "0 entries compared" ARGS --op tanh --isa scalar --shape n8 --data unit --baseline ${good})
file(WRITE ${WORK}/empty.json "")
run(CODE 2 MATCHES "empty.json" ARGS ${small} --baseline ${WORK}/empty.json)
file(WRITE ${WORK}/list.json "[]")
run(CODE 2 MATCHES "list.json" ARGS ${small} --baseline ${WORK}/list.json)
run(CODE 2 MATCHES "no-such-file" ARGS ${small} --baseline ${WORK}/no-such-file.json)
run(CODE 3 MATCHES "--seed" ARGS ${small} --seed 5 --baseline ${good})
string(REGEX REPLACE "\"entries\": \\[.*\\]\n" "\"entries\": []\n" changed "${text}")
file(WRITE ${WORK}/no_entries.json "${changed}")
run(CODE 3 MATCHES "no entries" ARGS ${small} --baseline ${WORK}/no_entries.json)

# ---- a baseline that cannot be written, or is interrupted, leaves the old one alone
run(CODE 2 MATCHES "no/such/place" ARGS ${small} --write-baseline ${WORK}/no/such/place.json)
run(CODE 2 MATCHES "cannot write" ARGS ${small} --write-baseline ${WORK})
find_program(SH NAMES sh)
if(SH)
  file(WRITE ${WORK}/old.json "old")
  # The shell's unit is 512 or 1024 bytes: less than the document. A write beyond it fails, or ends the
  # program where the signal is not ignored.
  foreach(ignore IN ITEMS "trap '' XFSZ && " "")
    execute_process(COMMAND ${SH} -c "${ignore}ulimit -f 1 && exec \"$0\" check --op exp --isa scalar --write-baseline \"$1\""
                            ${PROGRAM} ${WORK}/old.json
                    OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
    file(READ ${WORK}/old.json old)
    if(code EQUAL 0 OR NOT old STREQUAL "old")
      message(SEND_ERROR "an interrupted write ended with ${code} and left '${old}'\n${out}\n${err}")
    endif()
  endforeach()
endif()

# ---- a whole run: at least 200 entries for every variant, and none fails
run(CODE 0 ARGS --json)
string(JSON n ERROR_VARIABLE error LENGTH "${output}" variants)
if(NOT n GREATER 0)
  message(FATAL_ERROR "no variants: ${error}")
endif()
math(EXPR last "${n} - 1")
foreach(v RANGE ${last})
  string(JSON variant GET "${output}" variants ${v})
  string(JSON kernel GET "${variant}" kernel)
  string(JSON skipped GET "${variant}" skipped)
  string(JSON entries GET "${variant}" entries)
  string(JSON failed GET "${variant}" failed)
  message(STATUS "${kernel}: ${entries} entries${skipped}")
  if(NOT skipped AND (entries LESS 200 OR failed GREATER 0))
    message(SEND_ERROR "${kernel}: ${entries} entries, ${failed} failed")
  endif()
endforeach()
