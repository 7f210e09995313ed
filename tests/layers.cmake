# SPDX-License-Identifier: MIT
# The public calls that layers are made of: additive, linear, recurrent cells.

if(SATTN_CMOCKA_LIBRARY)
  foreach(name IN ITEMS layers_calls layers_values)
    sattn_test_program(test_${name} test_${name}.c)
    target_link_libraries(test_${name} PRIVATE sattn_test_support simdattn_static sattn_verify
                          ${SATTN_CMOCKA_LIBRARY} m)
    sattn_test(${name} COMMAND test_${name} ONE_CPU LABELS library)
  endforeach()
endif()
