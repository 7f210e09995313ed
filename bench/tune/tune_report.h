/* SPDX-License-Identifier: MIT
 *
 * tune_report.h: what `simdattn tune` prints: a line per class, and what it all comes to. */
#ifndef SATTN_BENCH_TUNE_TUNE_REPORT_H
#define SATTN_BENCH_TUNE_TUNE_REPORT_H

#include "bench/tune/tune_run.h"

/* What the lines will mean, before the first of them. */
void sattn_tune_print_begin(const sattn_tune_session *session);
/* The line of a job, with what was rejected below it. */
void sattn_tune_print_job(const sattn_tune_session *session, size_t job);
void sattn_tune_print_end(const sattn_tune_session *session, double seconds, bool is_there);
/* --list: classes by tier and kind of call, with their numbers, each on a line that says all of it.
 */
void sattn_tune_print_list(const sattn_tune_jobs *jobs);

#endif
