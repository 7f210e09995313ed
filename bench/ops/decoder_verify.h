/* SPDX-License-Identifier: MIT
 *
 * decoder_verify.h: is a decoder's step right? Each part is compared with the oracle on what the
 * part before it left, as any op of bench/verify/steps.h is; the whole step is to be the bits of
 * its parts. Its state, like that of another library's step, is held to the bound of the whole. */
#ifndef SATTN_BENCH_OPS_DECODER_VERIFY_H
#define SATTN_BENCH_OPS_DECODER_VERIFY_H

#include "bench/bench/bench_call.h"

/* The call that is verified next: `verify` of a task is told of nothing but arguments. */
void sattn_decoder_note(const sattn_bench_call *call);

sattn_status sattn_decoder_verify(const sattn_attention_args *args, const sattn_variant *variant,
                                  sattn_verify_result *result, const char **why);

#endif
