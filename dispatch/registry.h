/* SPDX-License-Identifier: MIT
 *
 * registry.h: prototypes and table of all kernels, made from registry.def, and the choice of one.
 */
#ifndef SATTN_DISPATCH_REGISTRY_H
#define SATTN_DISPATCH_REGISTRY_H

#include "dispatch/cpu.h"
#include "kernels/contract.h"

/* The shapes of work that want different kernels. Rows are n_group * n_q, the query rows that share
 * a read of K and V. */
typedef enum sattn_phase {
    SATTN_PHASE_PREFILL = 1,   /* many rows */
    SATTN_PHASE_FEW_QUERY = 2, /* few rows, n_q > 1 */
    SATTN_PHASE_DECODE = 4,    /* few rows, n_q == 1 */
    SATTN_PHASE_ALL = 7,
} sattn_phase;

/* Above so many rows lanes over queries always win; below and at it lanes over features do, but for
 * rows that fill a tile (sattn_fused_phase in share.h). */
enum { SATTN_FEW_ROWS = 28 };

/* In a registry row, beside its phases: ranked in these for several of few rows only, and where the
 * CPU's shuffles take a port from its multiply-adds (sattn_are_several). */
enum { SATTN_FOR_SEVERAL_ROWS = 8, SATTN_SEVERAL_ROWS_MIN = 5 };

/* In the order of `info` and of the documents. */
typedef enum sattn_op {
    SATTN_OP_fused,
    SATTN_OP_qk,
    SATTN_OP_softmax,
    SATTN_OP_av,
    SATTN_OP_exp,
    SATTN_OP_tanh,
    SATTN_OP_sigmoid,
    SATTN_OP_additive,
    SATTN_OP_linear,
    SATTN_OP_gru,
    SATTN_OP_COUNT
} sattn_op;

typedef struct sattn_kernel {
    sattn_op op;
    const char *name;
    sattn_features needs;
    unsigned phases;
    int tile_rows, tile_keys, tile_d;
    size_t extra_scratch;
    const char *note;
    union {
        sattn_fused_fn *fused;
        sattn_qk_fn *qk;
        sattn_softmax_fn *softmax;
        sattn_av_fn *av;
        sattn_exp_fn *exp;
        sattn_tanh_fn *tanh;
        sattn_sigmoid_fn *sigmoid;
        sattn_additive_fn *additive;
        sattn_linear_fn *linear;
        sattn_gru_fn *gru;
    } fn;
} sattn_kernel;

#define SATTN_KERNEL(op, function, ...) sattn_##op##_fn function;
#include "dispatch/registry.def"
#undef SATTN_KERNEL

/* Rows of this build. */
enum {
    SATTN_KERNEL_COUNT = 0
#define SATTN_KERNEL(...) +1
#include "dispatch/registry.def"
#undef SATTN_KERNEL
};

/* All rows, in order. */
const sattn_kernel *sattn_registry(size_t *count);
const sattn_kernel *sattn_kernel_by_name(const char *name); /* NULL: no such row */

/* The largest error over all of f32 that the note of a row of exp, tanh or sigmoid states
 * ("0.90 ULP"; tests/test_sweep.c proves it); NaN if it states none. */
double sattn_kernel_stated_ulp(const sattn_kernel *kernel);

/* The row of another op with the same ISA and tag; NULL: there is none. */
const sattn_kernel *sattn_kernel_sibling(const sattn_kernel *kernel, sattn_op op);

const char *sattn_op_name(sattn_op op);
/* exp, tanh, sigmoid: of sattn_array_args. */
bool sattn_op_takes_arrays(sattn_op op);
/* Whether rows tell its calls apart: all but functions of arrays and gru. */
bool sattn_op_has_phases(sattn_op op);
/* Runs a kernel of an op that takes arrays. */
void sattn_kernel_run_array(const sattn_kernel *kernel, const sattn_array_args *args);

/* Writes the names of the phases in `phases`, separated by spaces, and for how many rows if that is
 * not all. */
void sattn_phases_print(unsigned phases, char *text, size_t size);
sattn_phase sattn_phase_of(int64_t n_group, int64_t n_q);
/* Whether calls of the phase are of rows that SATTN_FOR_SEVERAL_ROWS is about. */
bool sattn_are_several(const sattn_cpu *cpu, sattn_phase phase, int64_t n_group, int64_t n_q);

/* What a choice depends on, and nothing else. */
typedef struct sattn_selection {
    sattn_op op;
    sattn_phase phase;
    sattn_features usable; /* features of CPU and system, under the cap of SATTN_ISA */
    const char *forced;    /* name of a row of this op, or NULL */
    bool is_several;       /* what sattn_are_several says */
} sattn_selection;

typedef enum sattn_verdict {
    SATTN_VERDICT_CHOSEN,
    SATTN_VERDICT_OTHER_OP,
    SATTN_VERDICT_MISSING,    /* needs features that are not usable */
    SATTN_VERDICT_NOT_RANKED, /* not for this phase unless asked for by name */
    SATTN_VERDICT_NOT_FORCED, /* another row was asked for by name */
} sattn_verdict;

/* What becomes of row `kernel`, on its own: CHOSEN here means eligible. */
sattn_verdict sattn_judge(const sattn_kernel *kernel, const sattn_selection *selection);

/* The first eligible row; NULL only where `forced` names a row that cannot run here. */
const sattn_kernel *sattn_select(const sattn_kernel *rows, size_t count,
                                 const sattn_selection *selection);

#endif
