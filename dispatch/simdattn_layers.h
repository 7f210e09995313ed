/* SPDX-License-Identifier: MIT
 *
 * simdattn_layers.h: attention layers and decoders, made of the calls of simdattn.h, which includes
 * this.
 *
 * Forward only, f32. State and workspace are the caller's: with a workspace given, no call but
 * sattn_decoder_create allocates. All matrices lie as PyTorch stores them: a map's weight is
 * [out, in] and is applied as x W^T + b; it may be given in place, with rows of any stride, or
 * packed. Options go to each call that a layer is made of; but that key_splits of 0 is 1 here, so
 * that the same kernels give the same bits for every number of threads. A view's stride_h counts
 * only where a tensor is said to have heads.
 *
 * Everywhere n_k_valid is [batch], each in [0, n_k], or NULL for n_k. Inputs from there on have the
 * weight 0, and what they hold matters to no result, but for outputs that are theirs in a
 * self-attention; maps read them all the same, so that their memory must be there. Bounds of the
 * errors: docs/numerics.md. */
#ifndef SIMDATTN_LAYERS_H
#define SIMDATTN_LAYERS_H

#include "simdattn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* f_att(q, x): how well an input x suits a query q. */
typedef enum sattn_align_kind {
    SATTN_ALIGN_SCALED_DOT = 0, /* q . x / sqrt(d_q) (Vaswani et al. 2017, equation 1) */
    SATTN_ALIGN_DOT,            /* q . x */
    SATTN_ALIGN_BILINEAR,       /* q^T W x (Luong, Pham & Manning 2015, "general") */
    SATTN_ALIGN_ADDITIVE,       /* v . tanh(W q + b + U x) (Bahdanau, Cho & Bengio 2015, A.1.2) */
} sattn_align_kind;

/* The general attention layer: queries q_i, and inputs x_j that are keys and values at once.
 *
 *   e_ij = f_att(q_i, x_j)    a_i = softmax(e_i)    y_i = sum_j a_ij x_j
 *
 * batch or n_q of 0 compute nothing; n_k of 0 gives rows of +0; d_q and d_x are 1 or more. */
typedef struct sattn_general_attention_args {
    int64_t batch, n_q, n_k; /* n_k: inputs */
    int64_t d_q, d_x;        /* of a query and of an input; equal for both dot products */
    sattn_view q;            /* [batch, n_q, d_q] */
    sattn_view x;            /* [batch, n_k, d_x] */
    sattn_mut_view y;        /* [batch, n_q, d_x] */
    sattn_mut_view weights;  /* a, [batch, n_q, n_k]; data NULL: not returned */
    const int64_t *n_k_valid;
    sattn_align_kind align;
    /* Bilinear: w_x is W [d_q, d_x], without a bias. In place it is applied to the queries where
     * they are fewer than the inputs, as (q^T W) x; packed always to the inputs.
     * Additive: w_q is W [n_align, d_q] with b, w_x is U [n_align, d_x], v is [n_align].
     * What the alignment does not have is left at zero. */
    sattn_linear_weights w_q, w_x;
    const float *v;
} sattn_general_attention_args;

SATTN_API sattn_status sattn_general_attention(const sattn_general_attention_args *args,
                                               const sattn_options *options);

/* Bytes of workspace that a layer needs. Data pointers, bias and v may be NULL; of weights, packed
 * and n_k_valid only that they are NULL or not is looked at, and of what is packed the tag. */
SATTN_API sattn_status sattn_general_attention_workspace_size(
    const sattn_general_attention_args *args, const sattn_options *options, size_t *size);

/* The attention layer with keys and values of their own:
 *
 *   K = X W_K^T + b_K    V = X W_V^T + b_V    A = softmax(Q K^T / sqrt(d_q))    Y = A V
 *
 * where d_q = w_k.n_out, d_x = w_k.n_in = w_v.n_in and d_v = w_v.n_out. Extents of 0 as above. */
typedef struct sattn_attention_layer_args {
    int64_t batch, n_q, n_k;       /* n_k: inputs */
    sattn_view q;                  /* [batch, n_q, d_q] */
    sattn_view x;                  /* [batch, n_k, d_x] */
    sattn_mut_view y;              /* [batch, n_q, d_v] */
    sattn_mut_view weights;        /* A, [batch, n_q, n_k]; data NULL: not returned */
    sattn_linear_weights w_k, w_v; /* [d_q, d_x], [d_v, d_x] */
    const int64_t *n_k_valid;
} sattn_attention_layer_args;

SATTN_API sattn_status sattn_attention_layer(const sattn_attention_layer_args *args,
                                             const sattn_options *options);
SATTN_API sattn_status sattn_attention_layer_workspace_size(const sattn_attention_layer_args *args,
                                                            const sattn_options *options,
                                                            size_t *size);

/* The self-attention layer, in which each input is a query, a key and a value; multi-head as in
 * Vaswani et al. (2017, section 3.2.2) and PyTorch's nn.MultiheadAttention:
 *
 *   Q = X W_Q^T + b_Q    K = X W_K^T + b_K    V = X W_V^T + b_V
 *   A_h = softmax(Q_h K_h^T / sqrt(d_q / n_heads))    Y = [A_0 V_0; A_1 V_1; ..] W_O^T + b_O
 *
 * where head h has the columns from h d_q / n_heads on of Q and K, and from h d_v / n_heads on of
 * V; d_q = w_q.n_out = w_k.n_out, d_v = w_v.n_out = w_o.n_in. Without `causal` it is permutation
 * equivariant: inputs in another order give the outputs in that order. */
typedef struct sattn_self_attention_args {
    int64_t batch, n_k;                      /* n_k: inputs; 0: nothing is computed */
    int64_t n_heads;                         /* 1 or more, a divisor of d_q and d_v */
    sattn_view x;                            /* [batch, n_k, d_x] */
    sattn_mut_view y;                        /* [batch, n_k, w_o.n_out] */
    sattn_mut_view weights;                  /* A, [batch, n_heads, n_k, n_k]; data NULL: not
                                                returned */
    sattn_linear_weights w_q, w_k, w_v, w_o; /* each [out, in] */
    bool causal;                             /* position i sees 0 to i */
    const int64_t *n_k_valid;
} sattn_self_attention_args;

SATTN_API sattn_status sattn_self_attention(const sattn_self_attention_args *args,
                                            const sattn_options *options);
SATTN_API sattn_status sattn_self_attention_workspace_size(const sattn_self_attention_args *args,
                                                           const sattn_options *options,
                                                           size_t *size);

/* ---- decoders with additive attention: sequence to sequence (Bahdanau, Cho & Bengio 2015), and
 * captions of images (Xu et al. 2015), where the encoder states are the cells of a feature grid
 *
 * Of encoder states h_j, a start state s_0 and a first token y_0, for t = 1, 2, ..
 *
 *   e_tj = v . tanh(W s_(t-1) + b + U h_j)            scores, by an MLP
 *   a_t  = softmax(e_t)                               weights
 *   c_t  = sum_j a_tj h_j                             context
 *   s_t  = g([embedding[y_(t-1)]; c_t], s_(t-1))      state
 *   z_t  = W_out s_t + b_out                          logits of y_t
 *
 * U h_j is computed once for all steps. */
typedef enum sattn_cell_kind {
    SATTN_CELL_GRU = 0, /* as sattn_gru_cell, with m = 3 parts */
    SATTN_CELL_RNN,     /* as sattn_rnn_cell, m = 1 */
} sattn_cell_kind;

/* Extents and weights of a decoder. The cell's weight of its input [embedding; context] is given as
 * the two blocks of its columns: in place, the same memory with w.stride_t = n_embed + n_enc. Each
 * map's bias is added, so that b of the alignment may stand in either map, and so for the cell. */
typedef struct sattn_decoder_args {
    int64_t batch;                  /* sequences that are decoded side by side, 1 or more */
    int64_t n_k;                    /* encoder states of each, 1 or more */
    sattn_view h;                   /* encoder states [batch, n_k, n_enc]; data is given later */
    sattn_linear_weights w_state;   /* W [n_align, n_hidden], b */
    sattn_linear_weights w_encoded; /* U [n_align, n_enc] */
    const float *v;                 /* [n_align] */
    sattn_cell_kind cell;
    sattn_linear_weights w_embedded; /* of the cell's input, [m n_hidden, n_embed] */
    sattn_linear_weights w_context;  /* and [m n_hidden, n_enc] */
    sattn_linear_weights w_hidden;   /* of the cell's state, [m n_hidden, n_hidden] */
    sattn_linear_weights w_out;      /* [n_vocab, n_hidden], b_out */
    sattn_view embedding;            /* [n_vocab, n_embed]; only stride_t counts; data NULL: steps
                                        get embeddings instead of tokens */
    sattn_linear_weights w_start; /* [n_hidden, n_enc], for sattn_decoder_start; n_out = 0: none */
} sattn_decoder_args;

/* A checked decoder with its kernels chosen, made once and run many times. */
typedef struct sattn_decoder sattn_decoder;

/* Weights, also packed ones, must stay as and where they are until sattn_decoder_destroy. On
 * failure *decoder is NULL. */
SATTN_API sattn_status sattn_decoder_create(sattn_decoder **decoder, const sattn_decoder_args *args,
                                            const sattn_options *options);
SATTN_API void sattn_decoder_destroy(sattn_decoder *decoder);

/* Bytes of workspace that any of the calls below needs. */
SATTN_API size_t sattn_decoder_workspace_size(const sattn_decoder *decoder);

/* The kernels that the calls below run, as a comma list, each once: those of prepare, then those of
 * a step, in their order, then what start has beside them. The decoder's, until it is destroyed. */
SATTN_API const char *sattn_decoder_kernels(const sattn_decoder *decoder);

/* What is decoded. */
typedef struct sattn_decoder_source {
    const float *h;           /* encoder states, with the strides of the decoder. A feature grid
                                 [rows, columns, n_enc] is n_k = rows columns of them. */
    float *keys;              /* U h_j, dense [batch, n_k, n_align]: sattn_decoder_prepare writes
                                 them, steps read them */
    const int64_t *n_k_valid; /* [batch] */
} sattn_decoder_source;

/* These four run on any thread, several at once with workspaces and outputs of their own.
 * `workspace` is 64-byte aligned, or NULL for an allocation. */

/* keys = U h_j, once for all steps of the same encoder states. */
SATTN_API sattn_status sattn_decoder_prepare(const sattn_decoder *decoder,
                                             const sattn_decoder_source *source, void *workspace,
                                             size_t workspace_size);

/* state = tanh(W_start mean_j(h_j) + b_start), [batch, n_hidden], of which only stride_t counts:
 * s_0 from the mean feature (Xu et al. 2015, section 3.1.2). The mean of no state at all is 0. keys
 * are not looked at. */
SATTN_API sattn_status sattn_decoder_start(const sattn_decoder *decoder,
                                           const sattn_decoder_source *source,
                                           const sattn_mut_view *state, void *workspace,
                                           size_t workspace_size);

/* A step; of the strides only stride_t counts. */
typedef struct sattn_decoder_step_args {
    const int64_t *tokens;  /* y_(t-1), [batch], each in [0, n_vocab); or NULL */
    sattn_view embedded;    /* [batch, n_embed], looked at where tokens is NULL */
    sattn_view state;       /* s_(t-1), [batch, n_hidden] */
    sattn_mut_view next;    /* s_t, [batch, n_hidden]; may be exactly state, with equal strides */
    sattn_mut_view weights; /* a_t, [batch, n_k]; data NULL: not returned, as the next two */
    sattn_mut_view context; /* c_t, [batch, n_enc] */
    sattn_mut_view logits;  /* z_t, [batch, n_vocab]; NULL: not computed */
} sattn_decoder_step_args;

SATTN_API sattn_status sattn_decoder_step(const sattn_decoder *decoder,
                                          const sattn_decoder_source *source,
                                          const sattn_decoder_step_args *args, void *workspace,
                                          size_t workspace_size);

/* Greedy decoding: y_t = argmax z_t, of equals the first, from y_0 = bos on, until t = max_steps
 * or, with an eos, y_t = eos. Where a logit is NaN, which token follows is left open. A sequence of
 * the batch that ends before others does not change them; of its rows from its end on, tokens are
 * eos, and what else is returned means nothing and, once all have ended, is not written. */
typedef struct sattn_greedy_args {
    int64_t bos;             /* in [0, n_vocab) */
    bool has_eos;            /* false: no token ends a sequence */
    int64_t eos;             /* in [0, n_vocab) */
    int64_t max_steps;       /* 1 or more */
    sattn_view start;        /* s_0, [batch, n_hidden]; only stride_t counts */
    int64_t *tokens;         /* [batch, max_steps], dense */
    int64_t *n_steps;        /* [batch], the eos counted */
    sattn_mut_view weights;  /* a, [batch, max_steps, n_k]; data NULL: not returned. Over a feature
                                grid these are its attention maps [.., rows, columns]. */
    sattn_mut_view contexts; /* [batch, max_steps, n_enc], optional as well, and so are */
    sattn_mut_view states;   /* [batch, max_steps, n_hidden] */
    sattn_mut_view logits;   /* and [batch, max_steps, n_vocab] */
} sattn_greedy_args;

SATTN_API sattn_status sattn_decode_greedy(const sattn_decoder *decoder,
                                           const sattn_decoder_source *source,
                                           const sattn_greedy_args *args, void *workspace,
                                           size_t workspace_size);

#ifdef __cplusplus
}
#endif

#endif
