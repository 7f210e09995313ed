# SPDX-License-Identifier: MIT
# Defects of what the benchmark does with signals, processes and rounds.

sattn_dispatch_defect(stop_second_signal_lost FILE bench/stop.c COMMAND test_stop
  FROM [[} else if (now >= from) {]] TO [[} else if (now < 0) {]])
sattn_dispatch_defect(stop_second_signal_ends_nothing FILE bench/stop.c COMMAND test_stop
  FROM [[        (void)raise(number);]] TO [[]])
sattn_dispatch_defect(stop_first_signal_twice_is_two FILE bench/stop.c COMMAND test_stop
  FROM [[now + HALF_A_SECOND))]] TO [[now))]])
sattn_dispatch_defect(stop_never_a_first_again FILE bench/stop.c COMMAND test_stop
  FROM [[    atomic_store(&second_from, 0);
]] TO [[]])
sattn_dispatch_defect(stop_ignored_signal_taken FILE bench/stop.c COMMAND test_stop
  FROM [[if (previous[s].sa_handler != SIG_IGN)]] TO [[if (s < N_SIGNALS)]])
sattn_dispatch_defect(pin_copy_goes_nowhere FILE bench/environment/pin.c COMMAND test_pin
  FROM [[sched_setaffinity(process, ]] TO [[sched_setaffinity(0 * process, ]])
sattn_dispatch_defect(measure_difference_of_the_other_sign FILE bench/measure/measure.c COMMAND test_measure
  FROM [[return time - other;]] TO [[return other - time;]])
sattn_dispatch_defect(measure_part_is_the_first FILE bench/measure/measure.c COMMAND test_measure
  FROM [[result->round_parts[part], (size_t)made]] TO [[result->round_parts[part / 2], (size_t)made]])
sattn_dispatch_defect(measure_part_of_a_window FILE bench/measure/rounds.c COMMAND test_measure
  FROM [[(double)candidate->part_ns[p] / (double)track->calls;]] TO [[(double)candidate->part_ns[p];]])
sattn_dispatch_defect(layer_judged_loosely FILE bench/verify/layers.c COMMAND test_verify_whole_layers
  FROM [[deviations = 10;]] TO [[deviations = 1e4;]])
sattn_dispatch_defect(layer_judged_without_limit FILE bench/verify/layers.c COMMAND test_verify_whole_layers
  FROM [[layer->causal ? row + 1 : layer->n_k;]] TO [[layer->causal && row < 0 ? row + 1 : layer->n_k;]])
sattn_dispatch_defect(layer_judged_by_mapped_values FILE bench/verify/layers.c COMMAND test_verify_whole_layers
  FROM [[project(layer->w_v, d,]] TO [[project(layer->w_v ? layer->w_v : layer->w_k, d,]])
sattn_dispatch_defect(layer_judged_by_other_gates FILE bench/verify/layers.c COMMAND test_verify_whole_layers
  FROM [[z = gate_of(x, g, d + y);]] TO [[z = gate_of(x, g, y);]])
sattn_dispatch_defect(layer_judged_by_states_as_wide_as_keys FILE bench/verify/layers.c COMMAND test_verify_whole_layers
  FROM [[weigh(weights, h, n_k, n_enc, n_enc,]] TO [[weigh(weights, h, n_k, d, n_enc,]])
sattn_dispatch_defect(kernel_calls_rest_forgotten FILE bench/ops/kernel_calls.c COMMAND test_workload
  FROM [[record(run.rest_kernel, args);]] TO [[run.rest_kernel(args);]])
sattn_dispatch_defect(kernel_calls_not_done FILE bench/ops/kernel_calls.c COMMAND test_workload
  FROM [[    kernel(args);
]] TO [[]])
sattn_dispatch_defect(window_of_a_thread_that_came_late FILE bench/measure/window.c COMMAND test_measure
  FROM [[(done->all_work && ]] TO [[(done->threads > 2 && done->all_work && ]])
sattn_dispatch_defect(measure_never_stopped FILE bench/measure/rounds.c COMMAND test_measure
  FROM [[options->is_stopped())]] TO [[!options->is_stopped())]])
sattn_dispatch_defect(measure_twice_the_time_for_nothing FILE bench/measure/rounds.c COMMAND test_measure
  FROM [[(clean + 1) * 2 >= min_rounds * spent &&]] TO [[]])

# ---- the width of the core
set(issue FILE bench/measure/issue.c COMMAND test_issue)
sattn_dispatch_defect(issue_greatest_width_is_the_free_core ${issue}
  FROM [[SHARED * seen.widest[SATTN_ISSUE_WIDEST - 1];]] TO [[SHARED * seen.widest[0];]])
sattn_dispatch_defect(issue_free_core_known_once ${issue}
  FROM [[if (width > seen.widest[i]) {]] TO [[if (width > seen.widest[i] && !(seen.widest[SATTN_ISSUE_WIDEST - 1] > 0)) {]])
sattn_dispatch_defect(issue_width_stands_for_ever ${issue}
  FROM [[source->now_ns() - seen.latest_ns < SATTN_ISSUE_FRESH_NS)]] TO [[source->now_ns() >= seen.latest_ns)]])
sattn_dispatch_defect(issue_width_stands_for_nothing ${issue}
  FROM [[seen.latest_ns < SATTN_ISSUE_FRESH_NS)]] TO [[seen.latest_ns < 0)]])
sattn_dispatch_defect(issue_not_known_is_the_lesser ${issue}
  FROM [[(a < b || !(b > 0))]] TO [[a < b]])
sattn_dispatch_defect(issue_looked_at_once ${issue}
  FROM [[while (source->now_ns() - begin < ns)]] TO [[if (source->now_ns() - begin < ns)]])
sattn_dispatch_defect(issue_waited_for_ever ${issue}
  FROM [[while (waited < most_ns && sattn]] TO [[while (most_ns > 0 && sattn]])
sattn_dispatch_defect(issue_wait_not_stopped ${issue}
  FROM [[!(is_stopped && is_stopped()))]] TO [[!(is_stopped && !is_stopped()))]])
set(calls FILE bench/measure/calls.c COMMAND test_issue)
sattn_dispatch_defect(issue_after_calls_not_looked_at ${calls}
  FROM [[sattn_issue_lesser(before, width_for(candidate->threads));]] TO [[before;]])
sattn_dispatch_defect(issue_before_work_not_looked_at ${calls}
  FROM [[sattn_issue_lesser(before, width_for(reference->threads));]] TO [[width_for(reference->threads);]])
sattn_dispatch_defect(issue_of_one_core_for_several_threads ${calls}
  FROM [[threads > 1 ? 0 :]] TO [[threads > 2 ? 0 :]])
set(rounds FILE bench/measure/rounds.c COMMAND test_issue)
sattn_dispatch_defect(issue_of_the_rounds_before ${rounds}
  FROM [[        rounds->tracks[c].width = 0;
]] TO [[]])
sattn_dispatch_defect(issue_never_waited ${rounds}
  FROM [[        if (keep)
            await_free_core(rounds, c);
]] TO [[]])
sattn_dispatch_defect(issue_never_judged ${rounds}
  FROM [[    judge_widths(rounds);
]] TO [[]])
sattn_dispatch_defect(issue_not_known_is_free FILE bench/measure/taint.c COMMAND test_issue
  FROM [[if (!(width > 0))]] TO [[if (width < 0)]])
sattn_dispatch_defect(issue_no_matter_in_a_race FILE bench/tune/tune_class.c COMMAND test_issue
  FROM [[sattn_issue_is_shared(done.width) ||]] TO [[]])
sattn_dispatch_defect(issue_not_looked_at_first FILE bench/bench/bench_places.c COMMAND test_issue
  FROM [[sattn_issue_learn(look_ns);]] TO [[]])
sattn_dispatch_defect(issue_no_race_waits FILE bench/tune/tune_class.c COMMAND test_tune
  FROM [[measured.threads <= 1)]] TO [[measured.threads < 1)]])
sattn_dispatch_defect(issue_race_waits_too_soon FILE bench/tune/race.c COMMAND test_tune
  FROM [[if (keep && track->await)]] TO [[if (track->await)]])

# ---- the command line
set(line FILE bench/options.c COMMAND test_options)
sattn_dispatch_defect(option_by_its_beginning ${line}
  FROM [[strlen(name) == length && strncmp(word, name, length) == 0]] TO [[strncmp(word, name, length) == 0]])
sattn_dispatch_defect(option_without_its_most ${line}
  FROM [[*number >= least && *number <= most;]] TO [[*number >= least;]])
sattn_dispatch_defect(option_with_a_value_that_nobody_takes ${line}
  FROM [[if (option->flag && equals)]] TO [[if (option->flag && equals == word)]])
sattn_dispatch_defect(option_at_the_end_without_its_value ${line}
  FROM [[if (!equals && *at + 1 == argc)]] TO [[if (!equals && *at == argc)]])
sattn_dispatch_defect(option_with_an_empty_value ${line}
  FROM [[: *value != '\0';]] TO [[: true;]])
