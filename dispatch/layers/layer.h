/* SPDX-License-Identifier: MIT
 *
 * layer.h: what layers share: linear maps of batches, and softmax and sums over scores that lie in
 * their workspace. A layer is planned as a whole, from extents, strides and options, before
 * anything is written; its run calls kernels by the plans of its parts. */
#ifndef SATTN_DISPATCH_LAYERS_LAYER_H
#define SATTN_DISPATCH_LAYERS_LAYER_H

#include "dispatch/execute.h"
#include "dispatch/linear.h"
#include "dispatch/plan.h"
#include "dispatch/room.h"

/* Names of the fields of weights for messages, given the name of the weights. */
#define SATTN_LINEAR_NAMES(name)                                                                   \
    {                                                                                              \
        .n_in = name ".n_in", .n_out = name ".n_out", .w = name ".w", .w_data = name ".w.data",    \
        .bias = name ".bias", .packed = name ".packed"                                             \
    }

/* The product of extents, or INT64_MAX. */
int64_t sattn_layer_product(int64_t a, int64_t b);

/* What each call that a layer is made of gets: no workspace, and one key range unless options say
 * otherwise, so that threads do not change results. */
sattn_options sattn_layer_options(const sattn_options *options);

/* Options of a layer that returns these weights, if it does. */
sattn_status sattn_layer_check_options(const sattn_options *options, const sattn_mut_view *weights);

/* Copies rows of floats from one stride to another. */
void sattn_copy_rows(float *to, int64_t to_stride, const float *from, int64_t from_stride,
                     int64_t rows, int64_t columns);

/* Refuses "name = value" where it is not what the field `other` says. */
sattn_status sattn_layer_check_equal(const char *name, int64_t value, const char *other,
                                     int64_t expected);

/* Whether [batch, rows, ..] is as good as one entry of batch * rows rows: all lie at one distance
 * from each other, and they are no more than an extent may be. */
bool sattn_is_one_run(int64_t batch, int64_t rows, int64_t stride_b, int64_t stride_t);

/* ---- a linear map of [batch, rows, n_in] to [batch, rows, n_out]: one call where the strides
 * allow it, else one for each batch entry */
typedef struct sattn_projection {
    sattn_linear_plan linear;
    int64_t n_calls;
    int64_t x_step, y_step;     /* elements from call to call */
    int64_t x_stride, y_stride; /* elements from row to row */
} sattn_projection;

sattn_status sattn_projection_make(sattn_projection *projection,
                                   const sattn_linear_weights *weights,
                                   const sattn_linear_names *names, int64_t batch, int64_t rows,
                                   const sattn_view *x, const sattn_mut_view *y,
                                   const sattn_overrides *overrides, const sattn_options *options);

void sattn_projection_run(const sattn_projection *projection, const void *x, void *y,
                          unsigned char *workspace);

/* Dense [batch, rows, columns]. */
static inline sattn_mut_view sattn_dense_written(void *data, int64_t rows, int64_t columns)
{
    return (sattn_mut_view){
        .data = data, .stride_b = sattn_layer_product(rows, columns), .stride_t = columns};
}

static inline sattn_view sattn_dense_read(const void *data, int64_t rows, int64_t columns)
{
    return (sattn_view){
        .data = data, .stride_b = sattn_layer_product(rows, columns), .stride_t = columns};
}

/* ---- scores [batch, n_q, n_k] to weights in place, and the weighted sums of values */
typedef struct sattn_weighing {
    int64_t batch, n_q, n_k, d_v;
    sattn_view v;          /* [batch, n_k, d_v] */
    sattn_mut_view o;      /* [batch, n_q, d_v] */
    sattn_mut_view scores; /* read and written */
    const int64_t *n_k_valid;
} sattn_weighing;

typedef struct sattn_weighing_plan {
    sattn_plan softmax, av;
} sattn_weighing_plan;

/* Of the data only whether n_k_valid is NULL is looked at, and must stay so. */
sattn_status sattn_weighing_plan_make(sattn_weighing_plan *plan, const sattn_weighing *weighing,
                                      const sattn_options *options);
size_t sattn_weighing_plan_size(const sattn_weighing_plan *plan);

/* sattn_weighing_softmax is the first half, sattn_weighing_sum the second, where scores are weights
 * already. */
void sattn_weighing_softmax(const sattn_weighing_plan *plan, const sattn_weighing *weighing,
                            unsigned char *workspace);
void sattn_weighing_run(const sattn_weighing_plan *plan, const sattn_weighing *weighing,
                        unsigned char *workspace);
void sattn_weighing_sum(const sattn_weighing_plan *plan, const sattn_weighing *weighing,
                        unsigned char *workspace);

#endif
