# SPDX-License-Identifier: MIT
# Linear kernels: one test per registry row.
sattn_test_program(test_linear test_linear.c support/linear_problem.c)
target_link_libraries(test_linear PRIVATE sattn_test_support simdattn_static sattn_verify)
sattn_registry_rows(linear rows)
list(JOIN rows "," names)
sattn_test(linear.covers COMMAND test_linear --covers=${names} LABELS kernels)
foreach(row IN LISTS rows)
  sattn_test(linear.${row} COMMAND test_linear --kernel=${row} SEED LABELS kernels)
endforeach()
