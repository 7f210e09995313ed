/* SPDX-License-Identifier: MIT
 *
 * compare.h: is a finished attention output right, and how exact is it?
 *
 * An error is given in units of u * sum_k p_k |v_k| with u = 2^-24, since an output element is a
 * convex combination of V's rows; it must be finite and within bound.h's bound. Values are
 * classified by their bits, so that a NaN cannot pass a comparison, whatever the compiler's flags
 * make of one. A result that compared nothing is not a pass. */
#ifndef SATTN_BENCH_VERIFY_COMPARE_H
#define SATTN_BENCH_VERIFY_COMPARE_H

#include "bench/verify/bound.h"
#include "dispatch/simdattn.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum sattn_float_class {
    SATTN_CLASS_FINITE,
    SATTN_CLASS_NAN,
    SATTN_CLASS_PLUS_INF,
    SATTN_CLASS_MINUS_INF,
} sattn_float_class;

sattn_float_class sattn_classify_f32(float value);
sattn_float_class sattn_classify_f64(double value);
const char *sattn_float_class_name(sattn_float_class value_class);

/* column -1: the row's log-sum-exp */
typedef struct sattn_verify_place {
    int64_t batch, head, row, column;
} sattn_verify_place;

typedef struct sattn_verify_result {
    int64_t n_rows;     /* compared with the oracle */
    int64_t n_elements; /* the same, elements of O and of the log-sum-exp */
    int64_t n_scanned;  /* elements of O only checked for being finite */
    int64_t n_failed;   /* of both */

    /* Elements of O, against the oracle; errors in u * sum_k p_k |v_k|, those of a step in the
     * step's unit (steps.h). */
    double worst_error, mean_error;
    double worst_error_bound; /* the bound at the place of worst_error */
    double worst_ratio;       /* error / bound */
    double worst_bound;       /* the largest bound, in the same units */
    sattn_verify_place worst_error_at, worst_ratio_at;
    int64_t n_measured; /* elements that mean_error is the mean of */

    /* Where little cancels, |o| >= sum_k p_k |v_k| / 2: units in the last place, and relative. */
    double worst_ulp, worst_relative;

    double worst_lse_ratio; /* 0 where no log-sum-exp was asked for */

    /* The first failure; meaningful if n_failed > 0. */
    sattn_verify_place failed_at;
    double failed_got, failed_want, failed_bound;
    const char *failed_why; /* static text */
} sattn_verify_result;

/* Every count 0, nothing measured. */
void sattn_verify_result_init(sattn_verify_result *result);

/* Something was compared and nothing failed. */
bool sattn_verify_passed(const sattn_verify_result *result);

/* One sentence about the result: the first failure, or counts and worst errors. Cut to `size`. */
void sattn_verify_describe(const sattn_verify_result *result, char *text, size_t size);

/* Compares one output row with the oracle's and adds what it finds to `result`. `at` names the row.
 * `lse` is NULL where the kernel gave none. `bound` is working memory, [d_v] doubles; `row` has
 * logits and dot_sizes. */
void sattn_verify_row(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                      const sattn_bound_params *params, const float *o, const float *lse,
                      sattn_verify_place at, double *bound, sattn_verify_result *result);

/* What the oracle says of a row, and how far from it an output may be. */
typedef struct sattn_verify_answer {
    const sattn_ref_row_result *row; /* its weights are looked at where o is NaN */
    const double *bound;             /* [d_v] */
    double lse_bound;
    bool overflows; /* some score may: sattn_row_may_overflow */
} sattn_verify_answer;

/* Fills bound[d_v], and returns that of the log-sum-exp; nothing, and 0, where the row is one value
 * all over. */
double sattn_verify_bound(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                          const sattn_bound_params *params, double *bound);

/* What sattn_verify_row does, for an answer that is there. */
void sattn_verify_against(const sattn_ref_row_args *args, const sattn_verify_answer *answer,
                          const float *o, const float *lse, sattn_verify_place at,
                          sattn_verify_result *result);

struct sattn_verify_answers;

typedef struct sattn_verify_selection {
    bool all_rows; /* every row; else a sample, and the whole output is to be finite */
    /* In a sample: of the first unit (batch entry, KV head) all rows of the first tile, and of the
     * last one those of the last two tiles, where rows of a group's heads stand next to each other
     * as in kernels; and n_random others of each of these units. n_heads is not looked at. */
    bool whole_tiles;
    int64_t tile_queries; /* sample the edges of query tiles of this size too; 0: none */
    int64_t n_random;     /* random rows per sampled head; 0: 32 */
    int64_t n_heads;      /* sampled (batch, head) pairs; 0: 4, the first and the last among them */
    uint64_t seed;
    /* Of calls that differ in nothing but the kernel, and with the same selection: what the oracle
     * said at the first is kept here for the others (answers.h). NULL: it is not. */
    struct sattn_verify_answers *answers;
} sattn_verify_selection;

/* Compares what a call of sattn_attention(args) left in args->o and args->lse with the oracle. Maps
 * batch entries, heads, masks, strides and defaults to rows by itself, sharing nothing with
 * dispatch. args->q must still be what the call was given (not overwritten by o). `params` may be
 * NULL for the defaults. Anything but SATTN_OK means that nothing was compared: a field that this
 * cannot verify, or no memory; *why then says which (static text; `why` may be NULL). */
sattn_status sattn_verify_attention(const sattn_attention_args *args,
                                    const sattn_verify_selection *selection,
                                    const sattn_bound_params *params, sattn_verify_result *result,
                                    const char **why);

#endif
