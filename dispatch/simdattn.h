/* SPDX-License-Identifier: MIT
 *
 * simdattn.h: the public interface, and the only header a user includes.
 *
 *   sattn_attention_args args = {
 *       .batch = 1, .n_q_heads = 32, .n_kv_heads = 8, .n_q = 1, .n_k = 2048, .d = 128, .d_v = 128,
 *       .q = {.data = q, .stride_b = ..., .stride_h = ..., .stride_t = ...}, .k = ..., .v = ...,
 *       .o = ..., .causal = true,
 *   };
 *   if (sattn_attention(&args, NULL) != SATTN_OK)
 *       fprintf(stderr, "%s\n", sattn_last_error());
 *
 * Zero-initialise the structs: a field left at zero means "default" or "off". Fields are only ever
 * appended; structs that stand in others by value (sattn_view, sattn_mut_view, sattn_mask,
 * sattn_linear_weights) or in arrays (sattn_candidate, sattn_kernel_info) get no new ones within a
 * soname. Extents and strides are int64_t; strides are in elements, the innermost stride is 1.
 * Every refusal comes before anything is written, and sattn_last_error() then names the field, its
 * value and what was expected. All functions may be called from any thread at any time. */
#ifndef SIMDATTN_H
#define SIMDATTN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define SATTN_API
#else
#define SATTN_API __attribute__((visibility("default")))
#endif

#define SATTN_VERSION_MAJOR 0
#define SATTN_VERSION_MINOR 1
#define SATTN_VERSION_PATCH 0

typedef enum sattn_status {
    SATTN_OK = 0,
    SATTN_ERR_ARGUMENT,    /* a field's value is not legal */
    SATTN_ERR_UNSUPPORTED, /* legal, but this version does not compute it */
    SATTN_ERR_TOO_LARGE,   /* a size overflows */
    SATTN_ERR_OVERLAP,     /* an output overlaps itself or an input; the workspace a tensor */
    SATTN_ERR_KERNEL,      /* a kernel or ISA is unknown, not built, or not usable on this CPU */
    SATTN_ERR_ENVIRONMENT, /* a SATTN_* environment variable has a value that is not legal */
    SATTN_ERR_WORKSPACE,   /* the workspace given is too small or not aligned */
    SATTN_ERR_MEMORY,      /* an allocation failed */
    SATTN_ERR_PROFILE,     /* a profile is missing, stale or not legal */
} sattn_status;

/* A short name of the status, never NULL. */
SATTN_API const char *sattn_status_string(sattn_status status);

/* What the last failing call of this thread found wrong; "" before the first. Valid until this
 * thread's next failing call. */
SATTN_API const char *sattn_last_error(void);

typedef enum sattn_dtype {
    SATTN_F32 = 0,
    SATTN_F16,  /* IEEE binary16, uint16_t in memory */
    SATTN_BF16, /* bfloat16, uint16_t in memory */
} sattn_dtype;

/* A tensor [batch, heads, rows, features] that is read: strides in elements, each >= 0. stride_t is
 * 0 (one row, repeated) or at least the number of features. The stride of an extent of 1 is
 * ignored. */
typedef struct sattn_view {
    const void *data;
    sattn_dtype dtype;
    int64_t stride_b, stride_h, stride_t;
} sattn_view;

/* A tensor that is written; no two of its elements may share memory, nor, but where a field says
 * so, may it share any with another tensor of the call. */
typedef struct sattn_mut_view {
    void *data;
    sattn_dtype dtype;
    int64_t stride_b, stride_h, stride_t;
} sattn_mut_view;

typedef enum sattn_mask_kind {
    SATTN_MASK_NONE = 0,
    SATTN_MASK_BOOL,     /* uint8_t, nonzero = attend */
    SATTN_MASK_ADDITIVE, /* float, added to the score; -inf hides, any other value is a bias */
} sattn_mask_kind;

/* A mask broadcast to [batch, n_q_heads, n_q, n_k]: each extent is 1 or full; the stride of an
 * extent of 1 is ignored, the innermost stride is 1 otherwise. */
typedef struct sattn_mask {
    sattn_mask_kind kind;
    const void *data;
    int64_t extent[4];
    int64_t stride[4];
} sattn_mask;

/* Where along the way scores are returned, as in the ONNX operator Attention. */
typedef enum sattn_scores_stage {
    SATTN_SCORES_SCALED = 0,    /* scale * Q K^T, of every key, hidden or not */
    SATTN_SCORES_SOFTCAPPED,    /* after softcap, the same as before if that is off */
    SATTN_SCORES_BIASED,        /* after the bias; -inf where the key is hidden */
    SATTN_SCORES_PROBABILITIES, /* after softmax; 0 where the key is hidden */
} sattn_scores_stage;

/* O = softmax(cap(scale * Q K^T) + bias, over the visible keys) V for every batch entry and query
 * head; query head h reads KV head h / (n_q_heads / n_kv_heads). Of query i and key j,
 *   cap    softcap * tanh(s / softcap) of the score s, if softcap is not 0;
 *   bias   -alibi_slopes[h] * |i + offset - j|, then the additive mask.
 * A sink is one more score of a row, with a value row of zeros: it only makes the weights smaller.
 *
 * Key j is visible to query i of batch entry b where all of these hold, with offset the
 * causal_offset of b: j < n_k_valid[b];  causal: j <= i + offset;  the mask lets it through;
 *   window: i + offset - window_left <= j <= i + offset + window_right.
 * A hidden key never matters, whatever K and V hold there. A row that sees no key is +0 and its
 * log-sum-exp -inf, or the sink. NaN or +inf among a row's visible scores, or as its sink, makes
 * the whole row NaN, whatever it sees; so do scores that are all -inf, the sink included, without
 * being masked. A visible V that is not finite makes its column of the row not finite; whether it
 * is NaN or an infinity then is left open.
 *
 * batch, head counts and n_q of 0 compute nothing; n_k of 0 gives rows of +0; d and d_v are 1 or
 * more. The error is bounded in docs/numerics.md. */
typedef struct sattn_attention_args {
    int64_t batch, n_q_heads, n_kv_heads, n_q, n_k, d, d_v;
    sattn_view q; /* [batch, n_q_heads,  n_q, d]   */
    sattn_view k; /* [batch, n_kv_heads, n_k, d]   */
    sattn_view v; /* [batch, n_kv_heads, n_k, d_v] */
    /* [batch, n_q_heads, n_q, d_v]. May be exactly q where d == d_v and the strides are equal; any
     * other overlap with an input is refused. */
    sattn_mut_view o;
    bool has_scale; /* false: 1/sqrt(d) */
    float scale;    /* any finite value, zero and negative ones included */
    float softcap;  /* 0 = off */
    sattn_mask mask;
    const float *alibi_slopes; /* [n_q_heads], each finite; NULL = off */
    const float *sinks;        /* [n_q_heads], one extra logit per head; -inf is none; NULL = off */
    bool causal;
    const int64_t *causal_offset; /* [batch], signed; NULL = n_k_valid[b] - n_q (bottom right) */
    bool has_window;
    int64_t window_left, window_right; /* -1 = unbounded on that side */
    const int64_t *n_k_valid;          /* [batch], each in [0, n_k]; NULL = n_k. Keys beyond are
                                          never read. */
    float *lse; /* optional log-sum-exp [batch, n_q_heads, n_q], innermost stride 1 */
    int64_t lse_stride_b, lse_stride_h;
    /* Optional [batch, n_q_heads, n_q, n_k] at one stage, innermost stride 1. From n_k_valid[b] on,
     * where no key is read, it is -inf, and 0 among probabilities. */
    float *scores;
    sattn_scores_stage scores_stage;
    int64_t scores_stride_b, scores_stride_h, scores_stride_t;
    /* Input of sattn_softmax (scores) and sattn_av (weights), [batch, n_q_heads, n_q, n_k],
     * innermost stride 1; sattn_attention wants NULL. */
    const float *scores_in;
    int64_t scores_in_stride_b, scores_in_stride_h, scores_in_stride_t;
} sattn_attention_args;

/* What `simdattn tune` measured on a machine: which kernels are the fastest for which calls. */
typedef struct sattn_profile sattn_profile;

typedef struct sattn_options {
    /* The most threads that work on a call, the calling one included; 0 is 1. Fewer work where a
     * call has fewer parts, or too little work to be worth a thread. */
    int threads;
    const char *isa; /* highest ISA to use ("scalar", "avx2", ...); NULL: SATTN_ISA, else any */
    /* Comma list of kernel names, each for its own op. NULL: SATTN_KERNEL, else what the profile
     * has for such a call, else what suits the shape; where a fused prefill would leave lanes
     * empty, another kernel does its last rows. */
    const char *kernels;
    /* What was measured on this machine, for calls that name no kernel. NULL: the process's own,
     * see sattn_profile_load; sattn_profile_none(): none. */
    const sattn_profile *profile;
    void *workspace;       /* NULL: one allocation per call; else 64-byte aligned, of at least */
    size_t workspace_size; /* as many bytes as the call's .._workspace_size says */
    /* The rest is for attention, ragged batches and the layers made of it; in the last two
     * key_splits of 0 is 1. */
    /* Ranges that the keys are cut into and merged from, which a row's last bits depend on. 0:
     * chosen, 1 unless there are fewer heads and blocks of rows than threads; with any other number
     * results are the same bits for every number of threads: a profile chooses as for one. A chain
     * does not cut its keys and refuses 2 or more. */
    int key_splits;
    /* "fused": one kernel that never stores scores; "chain": qk, softmax and av, a block of query
     * rows after the other, with the block's scores in the workspace (0.5 MiB for each thread; up
     * to 16 MiB, or one row for each head of a group, where rows are long); NULL: what the profile
     * has for such a call, else fused; chain where scores are returned, which only that can do. */
    const char *plan;
} sattn_options;

/* Checks, plans and runs one call. `options` may be NULL. */
SATTN_API sattn_status sattn_attention(const sattn_attention_args *args,
                                       const sattn_options *options);

/* Bytes of workspace that sattn_attention needs for these arguments and options. q, k, v, o and
 * mask data may be NULL; of lse, scores, alibi_slopes, sinks, n_k_valid and causal_offset only that
 * they are NULL or not is looked at. */
SATTN_API sattn_status sattn_attention_workspace_size(const sattn_attention_args *args,
                                                      const sattn_options *options, size_t *size);

/* A ragged batch: sequences of different lengths, stored one after the other without padding.
 * Sequence b has the query rows [q_starts[b], q_starts[b + 1]) and the keys
 * [k_starts[b], k_starts[b + 1]); rows in no sequence are not read or written. */
typedef struct sattn_ragged {
    const int64_t *q_starts; /* [batch + 1], never falling, from 0 or more up to n_q */
    const int64_t *k_starts; /* [batch + 1], the same up to n_k */
} sattn_ragged;

/* sattn_attention of every sequence of a ragged batch, bit for bit as if each were a call of its
 * own with the same kernels and key_splits, of which 0 is 1 here. Where a profile chooses, it does
 * so for a batch's longest prompt and for its sequences of few queries, not for each alone. n_q and
 * n_k are the rows that the tensors hold: q and o are [n_q_heads, n_q, ..], k and v [n_kv_heads,
 * n_k, ..], lse [n_q_heads, n_q]; their batch strides are ignored. causal_offset is [batch], NULL =
 * keys minus queries of the sequence. Row i of a causal limit, a window or ALiBi counts from the
 * start of its sequence. mask, scores and n_k_valid are refused. */
SATTN_API sattn_status sattn_attention_ragged(const sattn_attention_args *args,
                                              const sattn_ragged *ragged,
                                              const sattn_options *options);

/* Bytes of workspace for sattn_attention_ragged; it reads the starts. */
SATTN_API sattn_status sattn_attention_ragged_workspace_size(const sattn_attention_args *args,
                                                             const sattn_ragged *ragged,
                                                             const sattn_options *options,
                                                             size_t *size);

/* The steps of sattn_attention, each on its own. They take the same arguments and look only at the
 * extents and at the fields of their step; the other tensors may be missing, and d and d_v where no
 * tensor has them.
 *
 *   sattn_qk       q, k, scale, softcap, n_k_valid          -> scores
 *   sattn_softmax  scores_in, alibi_slopes, mask, sinks, causal, window, n_k_valid -> scores, lse
 *   sattn_av       scores_in, v, mask, causal, window, n_k_valid -> o
 *
 * sattn_qk returns scores_stage SATTN_SCORES_SCALED (softcap is not applied) or
 * SATTN_SCORES_SOFTCAPPED, -inf from n_k_valid[b] on. sattn_softmax writes 0 where a key is hidden;
 * its scores may be exactly its scores_in, with equal strides. For sattn_av the weight of a hidden
 * key is 0, whatever scores_in holds there; an additive mask only hides. No other overlap is legal.
 * NaN, infinities, empty rows and hidden keys are as in sattn_attention. */
SATTN_API sattn_status sattn_qk(const sattn_attention_args *args, const sattn_options *options);
SATTN_API sattn_status sattn_softmax(const sattn_attention_args *args,
                                     const sattn_options *options);
SATTN_API sattn_status sattn_av(const sattn_attention_args *args, const sattn_options *options);

typedef enum sattn_step { SATTN_STEP_QK = 0, SATTN_STEP_SOFTMAX, SATTN_STEP_AV } sattn_step;

/* Bytes of workspace that a step needs; pointers in `args` as for sattn_attention_workspace_size.
 */
SATTN_API sattn_status sattn_step_workspace_size(sattn_step step, const sattn_attention_args *args,
                                                 const sattn_options *options, size_t *size);

/* y[i] = exp(x[i]), tanh(x[i]), 1 / (1 + exp(-x[i])) for n numbers; y may be exactly x. They need
 * no workspace. Errors in ULP per kernel: docs/numerics.md. */
SATTN_API sattn_status sattn_exp(const float *x, float *y, int64_t n, const sattn_options *options);
SATTN_API sattn_status sattn_tanh(const float *x, float *y, int64_t n,
                                  const sattn_options *options);
SATTN_API sattn_status sattn_sigmoid(const float *x, float *y, int64_t n,
                                     const sattn_options *options);

/* scores[b, i, j] = v . tanh(q[b, i] + k[b, j]): additive alignment (Bahdanau, Cho & Bengio 2015,
 * appendix A.1.2) with its projections done, q = W s + b of decoder states s and k = U h of encoder
 * states h. The tensors have no heads: stride_h is not looked at. batch, n_q or n_k of 0 compute
 * nothing; d is 1 or more. */
typedef struct sattn_alignment_args {
    int64_t batch, n_q, n_k, d;
    sattn_view q;             /* [batch, n_q, d] */
    sattn_view k;             /* [batch, n_k, d] */
    const float *v;           /* [d] */
    sattn_mut_view scores;    /* [batch, n_q, n_k]; -inf from n_k_valid[b] on */
    const int64_t *n_k_valid; /* [batch], each in [0, n_k]; NULL = n_k. Keys beyond are never read.
                               */
} sattn_alignment_args;

SATTN_API sattn_status sattn_additive(const sattn_alignment_args *args,
                                      const sattn_options *options);

/* Bytes of workspace that sattn_additive needs; data, v and n_k_valid may be NULL. */
SATTN_API sattn_status sattn_additive_workspace_size(const sattn_alignment_args *args,
                                                     const sattn_options *options, size_t *size);

/* Weights of a linear map, y = W x + b. */
typedef struct sattn_linear_weights {
    int64_t n_in, n_out; /* features of x, 1 or more, and of y */
    sattn_view w;        /* [n_out, n_in], as in PyTorch's nn.Linear; only stride_t counts */
    const float *bias;   /* [n_out]; NULL = 0 */
    const void *packed; /* what sattn_linear_pack made of w, which is then not looked at; or NULL */
} sattn_linear_weights;

/* What they are applied to; of the strides only stride_t counts. */
typedef struct sattn_linear_rows {
    int64_t n_rows;   /* 0: nothing is computed */
    sattn_view x;     /* [n_rows, n_in] */
    sattn_mut_view y; /* [n_rows, n_out] */
    bool adds;        /* what is computed is added to what y holds */
} sattn_linear_rows;

/* Y = X W^T + b, or Y += X W^T + b. Packed weights are multiplied by the kernel that they were
 * packed for, with the same bits as by that kernel in place; where it cannot run, or another is
 * asked for by name, the call is refused, and the message names both. */
SATTN_API sattn_status sattn_linear(const sattn_linear_weights *weights,
                                    const sattn_linear_rows *rows, const sattn_options *options);

/* Bytes of workspace that sattn_linear needs for so many rows. w.data and bias may be NULL; of
 * packed weights the tag is read. */
SATTN_API sattn_status sattn_linear_workspace_size(const sattn_linear_weights *weights,
                                                   int64_t n_rows, const sattn_options *options,
                                                   size_t *size);

/* Copies w, in the order in which a kernel reads it, into `packed`: 64-byte aligned memory of the
 * caller's, of as many bytes as sattn_linear_pack_size says. The kernel is the one that such a call
 * with so many rows would run; other numbers of rows are legal too. A pack is good for this build
 * of the library and does not hold the bias. weights->packed is not looked at. */
SATTN_API sattn_status sattn_linear_pack(const sattn_linear_weights *weights, int64_t n_rows,
                                         const sattn_options *options, void *packed, size_t size);
SATTN_API sattn_status sattn_linear_pack_size(const sattn_linear_weights *weights, int64_t n_rows,
                                              const sattn_options *options, size_t *size);

/* Gated recurrent units (Cho et al. 2014) from their projections, the reset gate on the projected
 * state as in PyTorch's nn.GRU: with x_r, x_z, x_n the parts of gates_x and h_r, h_z, h_n those of
 * gates_h,
 *
 *   r = sigmoid(x_r + h_r)  z = sigmoid(x_z + h_z)  n = tanh(x_n + r h_n)  next = n + z (h - n) */
typedef struct sattn_gate_args {
    int64_t n_rows, n_hidden;    /* 0: nothing is computed */
    sattn_view gates_x, gates_h; /* [n_rows, 3 n_hidden]; only stride_t counts */
    sattn_view h;                /* [n_rows, n_hidden] */
    sattn_mut_view next;         /* [n_rows, n_hidden]; may be exactly h, with equal strides */
} sattn_gate_args;

/* Needs no workspace. */
SATTN_API sattn_status sattn_gru(const sattn_gate_args *args, const sattn_options *options);

/* Weights of a recurrent cell: of its input [m n_hidden, n_in] and of its state
 * [m n_hidden, n_hidden], with m = 3 parts of a GRU in the order r, z, n, and 1 of a tanh RNN, as
 * in PyTorch's nn.GRUCell and nn.RNNCell. */
typedef struct sattn_cell_weights {
    sattn_linear_weights input, hidden;
} sattn_cell_weights;

/* A step of so many independent sequences. */
typedef struct sattn_cell_rows {
    int64_t n_rows;      /* 0: nothing is computed */
    sattn_view x;        /* [n_rows, input.n_in]; only stride_t counts */
    sattn_view h;        /* [n_rows, hidden.n_in] */
    sattn_mut_view next; /* [n_rows, hidden.n_in]; may be exactly h, with equal strides */
} sattn_cell_rows;

/* next = sattn_gru of W_i x + b_i and W_h h + b_h, and next = tanh(W_i x + b_i + W_h h + b_h). */
SATTN_API sattn_status sattn_gru_cell(const sattn_cell_weights *weights,
                                      const sattn_cell_rows *rows, const sattn_options *options);
SATTN_API sattn_status sattn_rnn_cell(const sattn_cell_weights *weights,
                                      const sattn_cell_rows *rows, const sattn_options *options);

/* Bytes of workspace for a step of so many rows; pointers as for sattn_linear_workspace_size. */
SATTN_API sattn_status sattn_gru_cell_workspace_size(const sattn_cell_weights *weights,
                                                     int64_t n_rows, const sattn_options *options,
                                                     size_t *size);
SATTN_API sattn_status sattn_rnn_cell_workspace_size(const sattn_cell_weights *weights,
                                                     int64_t n_rows, const sattn_options *options,
                                                     size_t *size);

/* A checked shape with its kernels chosen, made once and run many times with new pointers. */
typedef struct sattn_plan sattn_plan;

/* What may change from run to run. All but q, k, v, o and mask must be NULL where the plan's
 * arguments had NULL, and only there; mask must be NULL where the plan has none. */
typedef struct sattn_pointers {
    const void *q, *k, *v;
    void *o;
    const void *mask;
    const int64_t *n_k_valid, *causal_offset;
    float *lse, *scores;
    const float *alibi_slopes, *sinks;
} sattn_pointers;

/* Pointers in `args` as for sattn_attention_workspace_size. On failure *plan is NULL. Free with
 * sattn_plan_destroy. */
SATTN_API sattn_status sattn_plan_create(sattn_plan **plan, const sattn_attention_args *args,
                                         const sattn_options *options);
SATTN_API void sattn_plan_destroy(sattn_plan *plan);
SATTN_API size_t sattn_plan_workspace_size(const sattn_plan *plan);
/* The kernels that this plan runs, as a comma list: for a chain three, for a fused prefill a second
 * where its last rows get one of their own. */
SATTN_API const char *sattn_plan_kernel(const sattn_plan *plan);
/* Runs on any thread, several at once with workspaces of their own. `workspace` is 64-byte aligned,
 * or NULL for an allocation. */
SATTN_API sattn_status sattn_plan_run(const sattn_plan *plan, const sattn_pointers *pointers,
                                      void *workspace, size_t workspace_size);

/* Reads a profile from a file, or from the text of one. SATTN_ERR_PROFILE: it cannot be read, or is
 * of another machine, library or compiler; sattn_last_error then names the field, its value there
 * and here. On failure *profile is NULL. Threads may share it, until sattn_profile_destroy;
 * plans and explanations that were made with it do not need it any more.
 *
 * Calls without options.profile use the process's own, which the first call reads: from the file
 * that SATTN_PROFILE names ("none": from none), else from simdattn/profile.json in
 * $XDG_CONFIG_HOME, else in $HOME/.config, if there is one. One that cannot be used is warned of
 * once and ignored; with SATTN_PROFILE_STRICT=1 every call then returns SATTN_ERR_PROFILE. */
SATTN_API sattn_status sattn_profile_load(sattn_profile **profile, const char *path);
SATTN_API sattn_status sattn_profile_load_buffer(sattn_profile **profile, const void *data,
                                                 size_t size);
SATTN_API void sattn_profile_destroy(sattn_profile *profile);

/* For options.profile: no profile, not the process's own either. It is not destroyed. */
SATTN_API const sattn_profile *sattn_profile_none(void);

/* Gets each warning, a sentence without a newline, on the thread whose call found the reason. It
 * may call the library. One that has been replaced may still run in a call on another thread, and
 * needs its context until such calls return. */
typedef void sattn_warning_handler(void *context, const char *message);

/* NULL: back to the default, which prints "simdattn: warning: ..." to stderr. */
SATTN_API void sattn_set_warning_handler(sattn_warning_handler *handler, void *context);

/* One way to run a call. */
typedef struct sattn_candidate {
    const char *plan;    /* as in sattn_options: "fused", "chain"; "" of a single op */
    const char *kernels; /* a comma list; of a fused prefill with that of its last rows */
    int key_splits;      /* where blocks are fewer than threads; 0: as many as without a profile.
                          * Where options ask for ranges, those that run. */
    bool is_eligible, is_taken;
    bool is_default;    /* what runs without a profile */
    bool is_on_front;   /* of those measured and eligible, none is both faster and more exact */
    const char *reason; /* why it is not eligible, or else not taken; "" of the one taken */
    /* As the profile has them, of the call that `measured` below names: nanoseconds, and the worst
     * error in the unit of docs/numerics.md, with the most that rounding explains. NaN: not
     * measured. */
    double time_ns, time_p10_ns, time_p90_ns;
    int samples;
    double error, error_bound;
} sattn_candidate;

typedef struct sattn_explanation {
    const char *shape_class;   /* of calls that share a choice */
    const char *decision;      /* what decided, a sentence */
    const char *profile;       /* its path, or "" */
    const char *profile_state; /* "in use", or why it is not or not all of it */
    size_t n_candidates;
    const sattn_candidate *candidates;
    /* The call that their times and errors are of, which stands for the class; "": there are none.
     */
    const char *measured;
    bool is_tainted; /* it was measured beside other work */
} sattn_explanation;

/* Which kernels a call with these arguments and options runs, and why not others: every candidate
 * of this build. Pointers in `args` as for sattn_attention_workspace_size; a call that would be
 * refused for anything else is refused here too. On failure *explanation is NULL. Free with
 * sattn_explanation_destroy. */
SATTN_API sattn_status sattn_explain(sattn_explanation **explanation,
                                     const sattn_attention_args *args,
                                     const sattn_options *options);
SATTN_API sattn_status sattn_explain_step(sattn_explanation **explanation, sattn_step step,
                                          const sattn_attention_args *args,
                                          const sattn_options *options);
SATTN_API sattn_status sattn_explain_exp(sattn_explanation **explanation, int64_t n,
                                         const sattn_options *options);
SATTN_API sattn_status sattn_explain_tanh(sattn_explanation **explanation, int64_t n,
                                          const sattn_options *options);
SATTN_API sattn_status sattn_explain_sigmoid(sattn_explanation **explanation, int64_t n,
                                             const sattn_options *options);
SATTN_API sattn_status sattn_explain_additive(sattn_explanation **explanation,
                                              const sattn_alignment_args *args,
                                              const sattn_options *options);
SATTN_API sattn_status sattn_explain_linear(sattn_explanation **explanation,
                                            const sattn_linear_weights *weights, int64_t n_rows,
                                            const sattn_options *options);
/* The same of sattn_linear_pack: which kernel it packs for. */
SATTN_API sattn_status sattn_explain_linear_pack(sattn_explanation **explanation,
                                                 const sattn_linear_weights *weights,
                                                 int64_t n_rows, const sattn_options *options);
SATTN_API sattn_status sattn_explain_gru(sattn_explanation **explanation, int64_t n_rows,
                                         int64_t n_hidden, const sattn_options *options);
SATTN_API void sattn_explanation_destroy(sattn_explanation *explanation);

/* One row of the registry. */
typedef struct sattn_kernel_info {
    const char *name;   /* "sattn_fused_f32_avx512" */
    const char *op;     /* "fused" */
    const char *isa;    /* "avx512" */
    const char *phases; /* phases in which it is ranked: "prefill", "few-query decode", "", or
                           "few-query decode of 5+ rows": only so many, and not on all CPUs */
    const char *note;
    bool usable;         /* this CPU and OS have all it needs */
    const char *missing; /* features that it lacks here, "" if usable */
} sattn_kernel_info;

/* All kernels of this build, in the order in which they are tried. */
SATTN_API const sattn_kernel_info *sattn_kernels(size_t *count);

/* Version of the library that is running, "0.1.0". */
SATTN_API const char *sattn_version(void);

#ifdef __cplusplus
}
#endif

#include "simdattn_layers.h"

#endif
