# SPDX-License-Identifier: MIT
# Additive alignment: the contract, and the sweep of the tanh in it.
sattn_test_program(test_additive test_additive.c support/additive_problem.c)
target_link_libraries(test_additive PRIVATE sattn_test_support simdattn_static sattn_verify m)

sattn_registry_rows(additive rows)
list(JOIN rows "," names)
sattn_test(additive.covers COMMAND test_additive --covers=${names} LABELS kernels)
foreach(row IN LISTS rows)
  sattn_test(additive.${row} COMMAND test_additive --kernel=${row} SEED LABELS kernels)
  sattn_test(sweep.${row} COMMAND test_sweep --kernel=${row} LABELS kernels)
endforeach()
