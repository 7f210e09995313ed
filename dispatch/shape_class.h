/* SPDX-License-Identifier: MIT
 *
 * shape_class.h: classes of calls that one plan suits, the keys of a profile.
 *
 * A class has all that a choice of kernels may depend on beside the CPU. Extents are in buckets of
 * powers of two: a winner that changes within one costs what docs/selection.md measures. */
#ifndef SATTN_DISPATCH_SHAPE_CLASS_H
#define SATTN_DISPATCH_SHAPE_CLASS_H

#include "dispatch/call.h"

/* What hides keys, the dearest of what a call has. */
typedef enum sattn_mask_class {
    SATTN_MASKED_BY_NOTHING,
    SATTN_MASKED_BY_CAUSAL,
    SATTN_MASKED_BY_WINDOW, /* with or without a causal limit */
    SATTN_MASKED_BY_MASK,   /* of numbers or truth values, whatever comes with it */
    SATTN_MASK_CLASS_COUNT
} sattn_mask_class;

/* Fields that a call does not look at are 0. Of an array only keys_log2, of its length, counts. Of
 * a linear call, rows are those of X, keys its outputs and d its inputs. */
typedef struct sattn_shape_class {
    sattn_call call;
    sattn_phase phase; /* by rows (sattn_phase_of), of packed weights earlier; 0 of arrays */
    int rows_log2;     /* ceil(log2(n_group * n_q)) */
    int keys_log2;     /* ceil(log2(n_k)) */
    int d_log2;        /* ceil(log2(d)), and of d_v */
    int d_v_log2;
    int group; /* query heads to a KV head; above 8 its power of two above */
    sattn_mask_class mask;
    bool is_strided; /* rows of K or V do not follow one another */
    bool is_packed;  /* weights are packed for a kernel */
    int threads;     /* that the options allow; above 8 the power of two above */
} sattn_shape_class;

/* Of arguments that have passed their check. With the default offset a single query sees every key,
 * so that a causal limit hides none. */
sattn_mask_class sattn_mask_class_of(const sattn_attention_args *args,
                                     sattn_computation computation);
sattn_shape_class sattn_class_of(const sattn_attention_args *args, sattn_computation computation,
                                 int threads);
sattn_shape_class sattn_class_of_array(sattn_op op, int64_t n, int threads); /* of gru too */
sattn_shape_class sattn_class_of_additive(int64_t n_q, int64_t n_k, int64_t d, bool is_strided,
                                          int threads);
sattn_shape_class sattn_class_of_linear(int64_t n_rows, int64_t n_out, int64_t n_in, bool is_packed,
                                        int threads);

/* The most rows that are not a prefill. Packed weights are in the order of a kernel with lanes over
 * outputs, which in place it would have to bring them into first: with them it pays earlier
 * (docs/performance.md, "The parts of layers"). */
static inline int sattn_few_rows_of(bool is_packed)
{
    return is_packed ? 4 : SATTN_FEW_ROWS;
}

/* The phase that the registry's order is asked for: of arrays, which have none, any. */
static inline sattn_phase sattn_class_phase(const sattn_shape_class *shape_class)
{
    return shape_class->phase ? shape_class->phase : SATTN_PHASE_PREFILL;
}

/* Different for different classes, never 0. */
uint64_t sattn_class_key(const sattn_shape_class *shape_class);

/* "attention few-query rows<=16 keys<=512 d<=64 d_v<=64 group=1 causal dense threads=1", "linear
 * decode rows<=1 outputs<=2048 inputs<=512 packed threads=1": for people, and the key in a profile.
 */
enum { SATTN_CLASS_TEXT = 192 };
void sattn_class_print(const sattn_shape_class *shape_class, char text[SATTN_CLASS_TEXT]);
/* Takes what sattn_class_print wrote and nothing else: false of any other text. */
bool sattn_class_parse(const char *text, sattn_shape_class *shape_class);

#endif
