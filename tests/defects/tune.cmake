# SPDX-License-Identifier: MIT
# Defects of what tunes: of races, of who is admitted to them, and of what is kept.

set(race FILE bench/tune/race.c COMMAND test_tune_race)
sattn_dispatch_defect(race_warm_up_counts ${race}
  FROM [[make_round(r, false); /* warm-up]] TO [[make_round(r, true); /* warm-up]])
sattn_dispatch_defect(race_always_in_one_order ${race}
  FROM [[shuffle(r, keep ? (uint64_t)r->made + 1 : 0);]] TO [[(void)shuffle;]])
sattn_dispatch_defect(race_noise_wins ${race}
  FROM [[ratio->median - 1 > sattn_race_spread(ratio);]] TO [[ratio->median > 0;]])
sattn_dispatch_defect(race_tainted_rounds_decide ${race}
  FROM [[    const int n = gather(r, c, base, true);]] TO [[    const int n = gather(r, c, base, false);]])
sattn_dispatch_defect(race_times_compared_across_rounds ${race}
  FROM [[r->ns[at] / r->ns[other];]] TO [[r->ns[at] / r->ns[base * rounds];]])
sattn_dispatch_defect(race_tie_goes_to_the_leader ${race}
  FROM [[if (leader == incumbent || !sattn_race_is_clear(&lead))]] TO [[if (leader == incumbent)]])
sattn_dispatch_defect(race_budget_ignored ${race}
  FROM [[if (spent + next > r->options->budget_ns ||]] TO [[if (spent < 0 ||]])
sattn_dispatch_defect(race_one_outlier_is_hopeless ${race}
  FROM [[        if (!(r->room[--n] > hopeless))
            return false;
    return true;]] TO [[        if (r->room[--n] > hopeless)
            return true;
    return false;]])
sattn_dispatch_defect(race_default_drops_out ${race}
  FROM [[c == incumbent || c == leader || !(clear]] TO [[c == leader || !(clear]])

set(regret FILE bench/tune/regret.c COMMAND test_tune)
set(regret_row FILE bench/tune/regret_row.c COMMAND test_tune)
sattn_dispatch_defect(regret_in_order_of_the_table ${regret}
  FROM [[(size_t)(sattn_random_bits(seed, SHUFFLE_STREAM, i) % (i + 1));]] TO [[i + (size_t)(0 * seed * SHUFFLE_STREAM);]])
sattn_dispatch_defect(regret_row_measured_twice ${regret}
  FROM [[        order[i] = order[at];
]] TO [[]])
sattn_dispatch_defect(regret_few_rounds_decide ${regret_row}
  FROM [[race->is_complete || race->rounds >= SATTN_RACE_LEAST;]] TO [[race->rounds > 0;]])
sattn_dispatch_defect(regret_undecided_are_counted ${regret}
  FROM [[        if (!row->is_decided) {]] TO [[        if (*row->error) {]])
sattn_dispatch_defect(regret_winner_has_no_noise ${regret_row}
  FROM [[.noise = is_winner ? race->spread]] TO [[.noise = is_winner ? 0]])
sattn_dispatch_defect(regret_of_nothing ${regret_row}
  FROM [[lane->behind.median / best->behind.median - 1,]] TO [[best->behind.median - 1,]])
sattn_dispatch_defect(regret_budget_ignored ${regret}
  FROM [[return left_s > 0 ? fmin(left_s, fmax(even, least_share_s)) : 0;]] TO [[return fmax(even, least_share_s);]])

set(admit FILE bench/tune/tune_admit.c COMMAND test_tune)
sattn_dispatch_defect(tune_corners_not_verified ${admit}
  FROM [[candidate->verdict == SATTN_TUNE_PENDING && corners[corner].arena]] TO [[max_error < 0]])
sattn_dispatch_defect(tune_output_of_the_last_call_counts ${admit}
  FROM [[    memset(output, 0xff, bytes);]] TO [[    memset(output, 0xff, 0 * bytes);]])
sattn_dispatch_defect(tune_some_rows_of_a_tile ${admit}
  FROM [[.whole_tiles = true,]] TO [[.whole_tiles = false,]])
sattn_dispatch_defect(tune_always_the_same_rows ${admit}
  FROM [[.seed = field->seed,]] TO [[.seed = 0,]])
sattn_dispatch_defect(tune_wrong_is_admitted ${admit}
  FROM [[    else if (!sattn_verify_passed(&candidate->verified))]] TO [[    else if (*why)]])
sattn_dispatch_defect(tune_max_error_ignored ${admit}
  FROM [[if (max_error > 0 && !(error <= max_error)) {]] TO [[if (max_error < 0 && error > 0) {]])
sattn_dispatch_defect(tune_slow_never_races ${admit}
  FROM [[if (ratio <= slow_factor || candidate->must_race)]] TO [[if (ratio <= slow_factor)]])
sattn_dispatch_defect(tune_one_slow_call_decides ${admit}
  FROM [[HOPELESS_PROBES = 2,]] TO [[HOPELESS_PROBES = 1,]])
sattn_dispatch_defect(tune_preempted_call_decides ${admit}
  FROM [[if (!window.is_tainted || ++n_tainted]] TO [[if (n_tainted >= 0 || ++n_tainted]])
sattn_dispatch_defect(tune_judges_without_end ${admit}
  FROM [[(limits->now_ns && limits->now_ns() >= limits->deadline_ns)]] TO [[limits->deadline_ns < 0]])
sattn_dispatch_defect(tune_judges_after_a_signal ${admit}
  FROM [[(limits->is_stopped && limits->is_stopped())]] TO [[limits->deadline_ns < 0]])
sattn_dispatch_defect(tune_one_shape_decides FILE bench/tune/tune_confirm.c COMMAND test_tune
  FROM [[which < SATTN_TUNE_INSIDE; ++which]] TO [[which < 0; ++which]])
sattn_dispatch_defect(tune_kept_as_in_a_tie FILE bench/tune/tune_confirm.c COMMAND test_tune
  FROM [[keep_default(&inside, SATTN_KEPT_SLOWER_ELSEWHERE,]] TO [[keep_default(&inside, SATTN_KEPT_IN_A_TIE,]])
sattn_dispatch_defect(tune_corners_of_packed_rows_as_of_others FILE bench/tune/tune_corners.c COMMAND test_tune
  FROM [[sattn_few_rows_of(c->is_packed) / n_group;]] TO [[SATTN_FEW_ROWS / n_group;]])
sattn_dispatch_defect(tune_even_corners FILE bench/tune/tune_corners.c COMMAND test_tune
  FROM [[((int64_t)1 << log2) - 1;]] TO [[((int64_t)1 << log2);]])
sattn_dispatch_defect(tune_unfinished_replaces_finished FILE bench/tune/tune_store.c COMMAND test_tune_store
  FROM [[return entry->is_complete || (!kept->is_complete]] TO [[return entry || (!kept->is_complete]])
sattn_dispatch_defect(tune_other_classes_lost FILE bench/tune/tune_store.c COMMAND test_tune_store
  FROM [[if (entry != &kept[k] || !is_dropped(store, entry))]] TO [[if (entry != &kept[k])]])
sattn_dispatch_defect(tune_less_exact_stays FILE bench/tune/tune_store.c COMMAND test_tune_store
  FROM [[if (entry != &kept[k] || !is_dropped(store, entry))]] TO [[if (entry)]])
sattn_dispatch_defect(tune_replaces_any_file FILE bench/tune/tune_store.c COMMAND test_tune_store
  FROM [[    if (!is_profile(store->path)) {]] TO [[    if (!*remark && !is_profile(store->path)) {]])
sattn_dispatch_defect(tune_what_another_wrote_lost FILE bench/tune/tune_store.c COMMAND test_tune_store
  FROM [[    if (!read_kept(store, error, error_size) ||]] TO [[    if (]])

set(run FILE bench/tune/tune_run.c COMMAND test_tune_run)
sattn_dispatch_defect(tune_little_of_each_class ${run}
  FROM [[    return even > wanted ? even : wanted;]] TO [[    return even < wanted ? even : wanted;]])
sattn_dispatch_defect(tune_begins_with_the_same ${run}
  FROM [[(session->states[j] == SATTN_TUNE_BEGUN) != is_begun)]] TO [[is_begun)]])
sattn_dispatch_defect(tune_errors_are_good ${run}
  FROM [[(*outcome->error && !outcome->is_none_admitted))]] TO [[(*outcome->error && outcome->is_none_admitted && outcome->failed))]])
sattn_dispatch_defect(result_replaces_links FILE bench/result.c COMMAND test_result
  FROM [[    const bool fits = strlen(target) < size;]] TO [[    const bool fits = strlen(path) > size;]])
sattn_dispatch_defect(tune_refused_is_never_settled FILE bench/tune/tune_confirm.c COMMAND test_tune
  FROM [[    verdict result = IMPOSSIBLE;
    if (setting->is_stopped && setting->is_stopped())
        return NOT_KNOWN;
    if (!sattn_tune_list_recipes(job, &recipes, why, WHY))
        return IMPOSSIBLE;]] TO [[    verdict result = IMPOSSIBLE;
    if (setting->is_stopped && setting->is_stopped())
        return NOT_KNOWN;
    if (!sattn_tune_list_recipes(job, &recipes, why, WHY))
        return NOT_KNOWN;]])

# ---- which rows are compared, and what is kept of the oracle
set(visit FILE bench/verify/visit.c COMMAND test_verify_sample)
sattn_dispatch_defect(tiles_of_the_first_head ${visit}
  FROM [[which & FIRST_TILE && i * w->n_group + g < tile; ++i)]] TO [[which & FIRST_TILE && g == 0 && i * w->n_group < tile; ++i)]])
sattn_dispatch_defect(last_tile_alone ${visit}
  FROM [[LAST_TILES = 2]] TO [[LAST_TILES = 1]])
sattn_dispatch_defect(edges_of_heads_in_a_row ${visit}
  FROM [[            if (row % n_group == g)]] TO [[            if (row / w->args->n_q == g)]])
set(answers FILE bench/verify/answers.c COMMAND test_verify_sample)
sattn_dispatch_defect(answers_of_other_bounds ${answers}
  FROM [[            same_bounds(&is->params, params))]] TO [[            params->key_block == is->params.key_block)]])
sattn_dispatch_defect(answers_of_another_head ${answers}
  FROM [[is->at.head == at.head &&]] TO [[]])
sattn_dispatch_defect(answers_without_weights_kept ${answers}
  FROM [[if (!is_finite(answer->row->o, d_v) || n]] TO [[if ((d_v < 0 && !is_finite(answer->row->o, d_v)) || n]])
