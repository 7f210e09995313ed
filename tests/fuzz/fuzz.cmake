# SPDX-License-Identifier: MIT
#
# fuzz.cmake: the fuzzers of attentions, of layers and their parts, and of profiles, and the replay of
# their inputs.
#
#   cmake --preset fuzz && cmake --build --preset fuzz
#   build-fuzz/tests/fuzz_attention -max_len=400 -len_control=0 CORPUS
#   build-fuzz/tests/fuzz_layers -max_len=400 -len_control=0 CORPUS
#   build-fuzz/tests/fuzz_profile CORPUS

# sattn_fuzz(name sources...): the library sattn_fuzz_<name>, what an input is and how it is judged; with
# libFuzzer the program fuzz_<name>.
function(sattn_fuzz name)
  add_library(sattn_fuzz_${name} STATIC ${ARGN})
  target_link_libraries(sattn_fuzz_${name} PUBLIC sattn_flags simdattn_static sattn_verify)
  if(SATTN_SANITIZE MATCHES "fuzzer")
    add_executable(fuzz_${name} fuzz/fuzz_entry.c)
    target_link_libraries(fuzz_${name} PRIVATE sattn_fuzz_${name})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()

sattn_fuzz(attention fuzz/fuzz_call.c fuzz/fuzz_check.c)
sattn_test_program(fuzz_replay fuzz/fuzz_replay.c)
target_link_libraries(fuzz_replay PRIVATE sattn_fuzz_attention)
math(EXPR inputs "10000 / ${SATTN_TEST_DIVISOR}")
sattn_test(fuzz.replay COMMAND fuzz_replay ${CMAKE_CURRENT_SOURCE_DIR}/data/fuzz/attention.bin ${inputs}
           ONE_CPU LABELS library)

sattn_fuzz(layers fuzz/fuzz_layers_check.c fuzz/fuzz_layers_decoder.c fuzz/fuzz_layers_verify.c)
sattn_test_program(fuzz_replay_layers fuzz/fuzz_replay.c)
target_link_libraries(fuzz_replay_layers PRIVATE sattn_fuzz_layers)
sattn_test(fuzz.layers COMMAND fuzz_replay_layers ${CMAKE_CURRENT_SOURCE_DIR}/data/fuzz/layers.bin ${inputs}
           ONE_CPU LABELS library)

if(SATTN_PROFILES)
  sattn_fuzz(profile fuzz/fuzz_profile_check.c support/profile_text.c)
  sattn_test_program(fuzz_replay_profile fuzz/fuzz_replay.c)
  target_link_libraries(fuzz_replay_profile PRIVATE sattn_fuzz_profile)
  sattn_test(fuzz.profile COMMAND fuzz_replay_profile ${CMAKE_CURRENT_SOURCE_DIR}/data/fuzz/profile.bin ${inputs}
             ONE_CPU LABELS library)
else()
  sattn_skipped_test(fuzz.profile "this build reads no profiles (SATTN_PROFILES=OFF)")
endif()
