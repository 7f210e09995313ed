# SPDX-License-Identifier: MIT
# The elementwise part of a GRU step: one test per registry row.
sattn_test_program(test_gru test_gru.c support/gru_problem.c)
target_link_libraries(test_gru PRIVATE sattn_test_support simdattn_static sattn_verify m)
sattn_registry_rows(gru rows)
list(JOIN rows "," names)
sattn_test(gru.covers COMMAND test_gru --covers=${names} LABELS kernels)
foreach(row IN LISTS rows)
  sattn_test(gru.${row} COMMAND test_gru --kernel=${row} SEED LABELS kernels)
endforeach()
