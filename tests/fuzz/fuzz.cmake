# SPDX-License-Identifier: MIT
#
# fuzz.cmake: the fuzzer of the public interface, and the replay of its inputs.
#
#   cmake --preset fuzz && cmake --build --preset fuzz
#   build-fuzz/tests/fuzz_attention -max_len=400 -len_control=0 CORPUS

add_library(sattn_fuzz STATIC fuzz/fuzz_call.c fuzz/fuzz_check.c)
target_link_libraries(sattn_fuzz PUBLIC sattn_flags simdattn_static sattn_verify)

if(SATTN_SANITIZE MATCHES "fuzzer")
  add_executable(fuzz_attention fuzz/fuzz_attention.c)
  target_link_libraries(fuzz_attention PRIVATE sattn_fuzz)
  target_link_options(fuzz_attention PRIVATE -fsanitize=fuzzer)
endif()

sattn_test_program(fuzz_replay fuzz/fuzz_replay.c)
target_link_libraries(fuzz_replay PRIVATE sattn_fuzz)
math(EXPR inputs "10000 / ${SATTN_TEST_DIVISOR}")
sattn_test(fuzz.replay COMMAND fuzz_replay ${CMAKE_CURRENT_SOURCE_DIR}/data/fuzz/attention.bin ${inputs}
           ONE_CPU LABELS library)
