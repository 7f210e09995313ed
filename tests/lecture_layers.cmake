# SPDX-License-Identifier: MIT
# Layers and decoders: golden values on every ISA; what they refuse, their memory, threads.

add_library(sattn_lecture_support STATIC support/bounded.c support/bounded_attention.c support/lecture.c support/lecture_decoder.c)
target_link_libraries(sattn_lecture_support PUBLIC sattn_flags sattn_test_support)
target_compile_definitions(sattn_lecture_support PRIVATE
                           "SATTN_LECTURE_DIR=\"${CMAKE_CURRENT_SOURCE_DIR}/data/lecture\"")
foreach(name IN ITEMS layers self_attention decoder)
  sattn_test_program(test_${name} test_${name}.c)
  target_link_libraries(test_${name} PRIVATE sattn_lecture_support sattn_test_support simdattn_static
                        sattn_verify m)
  foreach(isa IN LISTS SATTN_ISAS)
    sattn_test(${name}.${isa} COMMAND test_${name} --isa=${isa} ONE_CPU LABELS kernels)
  endforeach()
endforeach()

if(SATTN_CMOCKA_LIBRARY)
  foreach(name IN ITEMS layer_refusals decoder_refusals decoder_ends)
    sattn_test_program(test_${name} test_${name}.c)
    target_link_libraries(test_${name} PRIVATE simdattn_static ${SATTN_CMOCKA_LIBRARY} m)
    sattn_test(${name} COMMAND test_${name} ONE_CPU LABELS library)
  endforeach()
  add_library(sattn_layer_support STATIC support/layer_calls.c support/layer_cases.c)
  target_link_libraries(sattn_layer_support PUBLIC sattn_flags sattn_test_support)
  foreach(function IN ITEMS malloc calloc realloc aligned_alloc) # layer_calls.c counts them
    target_link_options(sattn_layer_support INTERFACE LINKER:--wrap=${function})
  endforeach()
  sattn_test_program(test_layer_bits test_layer_bits.c)
  target_link_libraries(test_layer_bits PRIVATE sattn_layer_support sattn_test_support simdattn_static
                        sattn_verify ${SATTN_CMOCKA_LIBRARY} m)
  sattn_test(layer_bits COMMAND test_layer_bits ONE_CPU LABELS library)
  if(SATTN_PROFILES)
    sattn_test_program(test_layer_profile test_layer_profile.c support/profile_text.c)
    target_link_libraries(test_layer_profile PRIVATE ${SATTN_CMOCKA_LIBRARY})
    sattn_test(layer_profile COMMAND test_layer_profile ONE_CPU LABELS library)
  endif()
  sattn_test_program(test_decoder_threads test_decoder_threads.c)
  target_link_libraries(test_decoder_threads PRIVATE sattn_test_support simdattn_static sattn_verify
                        ${SATTN_CMOCKA_LIBRARY} m)
  sattn_test(decoder_threads COMMAND test_decoder_threads ONE_CPU LABELS library)
endif()
