/* SPDX-License-Identifier: MIT
 *
 * ops.h: what `simdattn bench` can time.
 *
 * A *task* is a kind of call: which tensors it takes, how it is made through the public interface,
 * verified, and counted as work. An *op* is a word of --op: a task and the variants that can do it.
 * fused and chain are two ops of one task, so that they run on the same buffers, interleaved. A
 * *variant* is a row of the registry, or a chain of rows. */
#ifndef SATTN_BENCH_OPS_OPS_H
#define SATTN_BENCH_OPS_OPS_H

#include "bench/limits/limits.h"
#include "bench/verify/compare.h"
#include "bench/workload.h"
#include "dispatch/registry.h"

#include <stdbool.h>
#include <stddef.h>

/* Useful work of a call. A task counts flops or elements, never both; `bytes` are those that any
 * implementation has to move at least. */
typedef struct sattn_work {
    double flops, elements;
    double bytes;
    double kv_bytes; /* of these, the rows of K and V that some query may see */
} sattn_work;

/* What a task counts: what speeds are compared by. */
double sattn_work_amount(const sattn_work *work);

/* Scalar and autovec variants are what the others are compared with; a library variant calls
 * another project's function. */
typedef enum sattn_row_kind {
    SATTN_ROW_HAND,
    SATTN_ROW_LIBRARY,
    SATTN_ROW_AUTOVEC,
    SATTN_ROW_SCALAR,
    SATTN_ROW_KINDS,
} sattn_row_kind;

struct sattn_bench_op;

/* What op `call` times. */
typedef enum sattn_way {
    SATTN_WAY_NONE, /* of all other ops */
    SATTN_WAY_KERNEL,
    SATTN_WAY_PLAN_RUN,
    SATTN_WAY_ATTENTION,
    SATTN_WAY_PROFILED,
    SATTN_WAYS,
} sattn_way;

typedef struct sattn_variant {
    char name[64]; /* of the kernel, chain_<isa>[_autovec], <way>_<isa>, or of a layer */
    const struct sattn_bench_op *op;
    sattn_features needs;
    sattn_row_kind kind;
    unsigned phases; /* in which it is ranked */
    int tile_rows;   /* query rows of its tiles, 0 if unknown */
    sattn_way way;
    const sattn_verify_selection *selection; /* of rows that are verified; NULL: that of `bench` */
    /* As sattn_options takes them; "" or NULL: not given. The chain of a level, like a level's
     * variant, is whatever the dispatcher makes of `isa`. */
    char kernels[160];
    const char *isa, *plan;
    const char *part;       /* of a decoder's step, or NULL */
    int part_number;        /* sattn_decoder_part */
    sattn_align_kind align; /* of a general attention layer */
    const char *note;
    /* Another library (bench/peers/peers.h) and the cap on its ISA, or NULL. */
    const char *peer, *cap;
} sattn_variant;

struct sattn_bench_call;

typedef struct sattn_bench_task {
    sattn_shape_kind takes;
    unsigned tensors; /* of a set */
    unsigned output;  /* of these, the one that is written */
    sattn_scores_in scores_in;
    double spread; /* of made numbers */
    sattn_limit_kind compute;
    sattn_limit_kind memory; /* a read loop goes over `streamed`, a copy loop to the output */
    unsigned streamed;
    bool memory_always; /* memory may limit it whatever the shape; else only with few query rows */
    /* Kernels are called again with the arguments of one call: on one thread, warm, and not on
     * shapes with sinks, whose rows kernels do not finish. */
    bool is_bare;
    /* A layer: what is made before its first call holds addresses of its weights, so it stays warm,
     * and a level's kernels are chosen for each of its parts. */
    bool is_layer;
    const char *error_unit; /* with u = 2^-24 */

    sattn_work (*work)(const sattn_attention_args *args);
    /* Makes what is needed before the first call; false: refused, and `why` says it. */
    bool (*open)(struct sattn_bench_call *call, char *why, size_t why_size);
    /* The same once there is a workspace; NULL: nothing. */
    bool (*begin)(struct sattn_bench_call *call, char *why, size_t why_size);
    sattn_status (*run)(struct sattn_bench_call *call);
    /* Which kernels run, as a comma list; NULL: what the dispatcher says of a call of the op. */
    void (*name)(const struct sattn_bench_call *call, char *kernels, size_t size);
    /* Told of the call before it is verified, where arguments do not say it all; NULL: they do. */
    void (*note)(const struct sattn_bench_call *call);
    /* Compares sampled rows of what a call left in `args`, and scans all of it. Anything but
     * SATTN_OK: it could not be done, and *why says it (static text). */
    sattn_status (*verify)(const sattn_attention_args *args, const sattn_variant *variant,
                           sattn_verify_result *result, const char **why);
} sattn_bench_task;

typedef struct sattn_bench_op {
    const char *name;
    const sattn_bench_task *task;
    unsigned presets; /* whose shapes it is run on if the user names none */
} sattn_bench_op;

extern const sattn_bench_task sattn_task_attention, sattn_task_call, sattn_task_qk,
    sattn_task_softmax, sattn_task_av, sattn_task_exp, sattn_task_tanh, sattn_task_sigmoid,
    sattn_task_additive, sattn_task_linear, sattn_task_gru, sattn_task_decoder, sattn_task_self,
    sattn_task_general, sattn_task_attend;

/* Alignments of a general attention layer that are timed: a plain dot product costs what a scaled
 * one does. */
enum { SATTN_BENCH_ALIGNMENTS = 3 };

typedef struct sattn_bench_alignment {
    const char *name; /* part of variants' names */
    sattn_align_kind align;
} sattn_bench_alignment;

extern const sattn_bench_alignment sattn_bench_alignments[SATTN_BENCH_ALIGNMENTS];

/* The kind of shape that calls of a registry's op are of. */
sattn_shape_kind sattn_op_takes(sattn_op op);

/* Of whole attentions, however they are called. */
sattn_work sattn_attention_work(const sattn_attention_args *args);
sattn_status sattn_attention_verify(const sattn_attention_args *args, const sattn_variant *variant,
                                    sattn_verify_result *result, const char **why);

const sattn_bench_op *sattn_bench_ops(size_t *count);
const sattn_bench_op *sattn_bench_op_by_name(const char *name); /* NULL: no such op */

/* All variants of this build, usable here or not: kernels in the order of the registry, then
 * chains. */
const sattn_variant *sattn_variants(size_t *count);
const sattn_variant *sattn_variant_by_name(const char *name); /* NULL: no such variant */

/* The variant of an op that is whatever the dispatcher takes with `isa` as the highest level; NULL:
 * no such op, or a level that this build does not have or that is not one of vectors. */
const sattn_variant *sattn_level_variant(const char *op, const char *isa);

/* Another library's way of doing an op, by the names of both; of a general attention layer those
 * from number 0 on, one for each alignment. `cap` is NULL for whatever it takes here, or "avx2".
 * NULL: peers have no such op, or no such number. */
const sattn_variant *sattn_peer_variant(const char *op, int number, int peer, const char *cap);

/* Whether other libraries can stand beside kernels of this level, and with which cap: the CPU's own
 * highest level is what they take by themselves, whatever SATTN_ISA says, which they do not know.
 */
bool sattn_peers_match(const char *isa, const char **cap);

/* The word of its ISA level. */
const char *sattn_variant_isa(const sattn_variant *variant);

#endif
