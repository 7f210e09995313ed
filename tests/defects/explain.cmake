# SPDX-License-Identifier: MIT
# Defects of what `simdattn explain` tells.

set(rows FILE bench/explain/explain_rows.c COMMAND test_explain)
sattn_dispatch_defect(explain_front_of_errors_alone ${rows}
  FROM [[other->time_ns <= own->time_ns && other->error <= own->error;]] TO [[other->error <= own->error;]])
sattn_dispatch_defect(explain_front_has_what_is_not_eligible ${rows}
  FROM [[rows[r].candidate->is_eligible && isfinite(own->time_ns)]] TO [[isfinite(own->time_ns)]])
sattn_dispatch_defect(explain_fastest_before_taken ${rows}
  FROM [[if (a->candidate->is_taken != b->candidate->is_taken)]] TO [[if (a->candidate->is_taken && !isfinite(time_b))]])
sattn_dispatch_defect(explain_unmeasured_before_measured ${rows}
  FROM [[return isfinite(time_a) && !(time_b <= time_a);]] TO [[return !(time_b <= time_a);]])
sattn_dispatch_defect(explain_groups_across_sections ${rows}
  FROM [[(sattn_explain_section_of(&rows[first]) != section ||]] TO [[((int)section < 0 ||]])

set(results FILE bench/explain/explain_results.c COMMAND test_explain)
sattn_dispatch_defect(explain_results_of_other_kernels ${results}
  FROM [[{"simdattn_kernel_hash", environment->build.kernel_hash},]] TO [[]])
sattn_dispatch_defect(explain_results_of_an_unknown_cpu ${results}
  FROM [[if (*there && strcmp(there, "unknown") != 0 && strcmp(]] TO [[if (strcmp(]])
sattn_dispatch_defect(explain_results_of_another_shape ${results}
  FROM [[strcmp(text_of(row, "simdattn_shape_text"), wanted->shape) == 0 &&]] TO [[]])
sattn_dispatch_defect(explain_results_of_cold_caches ${results}
  FROM [[strcmp(text_of(row, "simdattn_cache"), "warm") == 0 &&]] TO [[]])
sattn_dispatch_defect(explain_results_of_the_first_kernel_alone ${results}
  FROM [[*all ? all : text_of(row, "simdattn_kernel");]] TO [[text_of(row, "simdattn_kernel"); (void)all;]])
sattn_dispatch_defect(explain_invalid_results ${results}
  FROM [[return (strcmp(status, "ok") == 0 || strncmp(status, "tainted", strlen("tainted")) == 0) &&]]
  TO [[return *status &&]])

sattn_dispatch_defect(explain_one_difference FILE bench/explain/explain_profile.c COMMAND test_explain
  FROM [[if (n > 0 && field == SATTN_IDENTITY_SCHEMA)]] TO [[if (n > 0)]])

set(shape FILE bench/explain/explain_shape.c COMMAND test_explain_options)
sattn_dispatch_defect(explain_first_of_several_shapes ${shape} FROM [[if (!*shape && n_begin == 1)]]
  TO [[if (!*shape && n_begin > 0)]])
sattn_dispatch_defect(explain_shapes_of_bench_alone ${shape}
  FROM [[index - count < n_regret ?]] TO [[index < n_regret ?]])
sattn_dispatch_defect(explain_window_one_short ${shape} FROM [[o->window_left = shape->window - 1;]]
  TO [[o->window_left = shape->window;]])
sattn_dispatch_defect(explain_heads_of_the_named_shape ${shape}
  FROM [[put(&shape->n_q_heads, e[SATTN_EXTENT_HEADS]);]] TO [[]])
sattn_dispatch_defect(explain_plan_of_a_step ${shape}
  FROM [[{is_part && o->plan, "--plan"}]] TO [[{is_apart && o->plan, "--plan"}]])
