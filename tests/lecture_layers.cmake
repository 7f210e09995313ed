# SPDX-License-Identifier: MIT
# Layers and decoders: golden values on every ISA; what they refuse, their memory, threads.

add_library(sattn_lecture_support STATIC support/bounded.c support/lecture.c support/lecture_decoder.c)
target_link_libraries(sattn_lecture_support PUBLIC sattn_flags sattn_test_support)
target_compile_definitions(sattn_lecture_support PRIVATE
                           "SATTN_LECTURE_DIR=\"${CMAKE_CURRENT_SOURCE_DIR}/data/lecture\"")
foreach(name IN ITEMS layers decoder)
  sattn_test_program(test_${name} test_${name}.c)
  target_link_libraries(test_${name} PRIVATE sattn_lecture_support sattn_test_support simdattn_static
                        sattn_verify m)
  foreach(isa IN LISTS SATTN_ISAS)
    sattn_test(${name}.${isa} COMMAND test_${name} --isa=${isa} LABELS kernels)
  endforeach()
endforeach()

if(SATTN_CMOCKA_LIBRARY)
  foreach(name IN ITEMS layer_refusals decoder_refusals)
    sattn_test_program(test_${name} test_${name}.c)
    target_link_libraries(test_${name} PRIVATE simdattn_static ${SATTN_CMOCKA_LIBRARY} m)
    sattn_test(${name} COMMAND test_${name} ONE_CPU LABELS library)
  endforeach()
endif()
