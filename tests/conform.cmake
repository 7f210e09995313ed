# SPDX-License-Identifier: MIT
# The verb `conform` (bench/conform/): its parts, what its suites are worth, the program, and all
# suites of tests/data by every variant of this machine.
if(SATTN_BENCH AND SATTN_CMOCKA_LIBRARY)
  sattn_test_program(test_conform test_conform.c)
  sattn_test_program(test_conform_wrong test_conform_wrong.c support/wrong_attention.c support/wrong_calls.c)
  foreach(program IN ITEMS test_conform test_conform_wrong)
    target_link_libraries(${program} PRIVATE sattn_bench ${SATTN_CMOCKA_LIBRARY} m)
    target_compile_definitions(${program} PRIVATE SATTN_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data")
  endforeach()
  sattn_test(conform.parts COMMAND test_conform LABELS library)
  sattn_test(conform.wrong COMMAND test_conform_wrong LABELS library)
endif()

if(SATTN_BENCH AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME conform.program COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:simdattn>
           -DDATA=${CMAKE_CURRENT_SOURCE_DIR}/data -DWORK=${CMAKE_CURRENT_BINARY_DIR}/conform
           -P ${CMAKE_CURRENT_SOURCE_DIR}/conform_program.cmake)
  set_tests_properties(conform.program PROPERTIES LABELS library TIMEOUT ${test_timeout})
  foreach(suite IN ITEMS onnx-attention onnx-flexattention onnx-softmax own-attention)
    add_test(NAME conform.${suite} COMMAND simdattn conform ${CMAKE_CURRENT_SOURCE_DIR}/data/${suite})
    set_tests_properties(conform.${suite} PROPERTIES LABELS kernels TIMEOUT ${test_timeout})
  endforeach()
endif()
