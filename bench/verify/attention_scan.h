/* SPDX-License-Identifier: MIT
 *
 * attention_scan.h: a look at every output, for what is not finite. */
#ifndef SATTN_BENCH_VERIFY_ATTENTION_SCAN_H
#define SATTN_BENCH_VERIFY_ATTENTION_SCAN_H

#include "bench/verify/compare.h"

/* Finite inputs give finite outputs, whatever is hidden. */
void sattn_verify_scan(const sattn_attention_args *args, sattn_verify_result *result);

#endif
