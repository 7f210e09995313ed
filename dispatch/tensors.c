/* SPDX-License-Identifier: MIT
 *
 * tensors.c: see tensors.h. */
#include "dispatch/tensors.h"

#include "dispatch/error.h"

#include <inttypes.h>

static sattn_tensor tensor_of(const char *name, const char *pointer, const sattn_view *view,
                              int64_t batch, int64_t rows, int64_t columns)
{
    const bool is_empty = batch == 0 || rows == 0 || columns == 0;
    return (sattn_tensor){.operand = {.name = name,
                                      .pointer = pointer,
                                      .stride_b = view->stride_b,
                                      .stride_t = view->stride_t,
                                      .batch = batch,
                                      .heads = 1,
                                      .rows = rows,
                                      .columns = columns,
                                      .dtype = view->dtype,
                                      .separator = '.',
                                      .used = true,
                                      .needed = !is_empty},
                          .data = view->data,
                          .alignment = sizeof(float)};
}

sattn_tensor sattn_tensor_read(const char *name, const char *pointer, const sattn_view *view,
                               int64_t batch, int64_t rows, int64_t columns)
{
    return tensor_of(name, pointer, view, batch, rows, columns);
}

sattn_tensor sattn_tensor_written(const char *name, const char *pointer, const sattn_mut_view *view,
                                  int64_t batch, int64_t rows, int64_t columns)
{
    const sattn_view as_read = {.data = view->data,
                                .dtype = view->dtype,
                                .stride_b = view->stride_b,
                                .stride_t = view->stride_t};
    sattn_tensor tensor = tensor_of(name, pointer, &as_read, batch, rows, columns);
    tensor.operand.written = true;
    return tensor;
}

sattn_tensor sattn_tensor_array(const char *name, const void *data, int64_t count,
                                int64_t element_size)
{
    const int64_t floats = count * (element_size / (int64_t)sizeof(float)); /* an operand's unit */
    const sattn_view view = {.data = data};
    sattn_tensor tensor = tensor_of(name, name, &view, 1, 1, floats);
    tensor.alignment = (uintptr_t)element_size;
    return tensor;
}

sattn_status sattn_extent_check(const char *name, int64_t value, int64_t least)
{
    if (value < least)
        return sattn_fail(SATTN_ERR_ARGUMENT, "%s = %" PRId64 ": expected %s", name, value,
                          least == 0 ? "0 or more" : "1 or more");
    if (value > (int64_t)1 << 40)
        return sattn_fail(SATTN_ERR_TOO_LARGE, "%s = %" PRId64 ": expected at most 2^40", name,
                          value);
    return SATTN_OK;
}

sattn_status sattn_extents_check(const sattn_extent *extents, int count)
{
    sattn_status status = SATTN_OK;
    for (int i = 0; status == SATTN_OK && i < count; ++i)
        status = sattn_extent_check(extents[i].name, extents[i].value, extents[i].least);
    return status;
}

sattn_status sattn_tensors_check_shapes(sattn_tensor *tensors, int count)
{
    sattn_status status = SATTN_OK;
    for (int i = 0; status == SATTN_OK && i < count; ++i)
        status = sattn_operand_check(&tensors[i].operand);
    return status;
}

static sattn_status check_address(const sattn_tensor *tensor)
{
    if (tensor->operand.needed && !tensor->data)
        return sattn_fail(SATTN_ERR_ARGUMENT, "%s is NULL: expected data", tensor->operand.pointer);
    if ((uintptr_t)tensor->data % tensor->alignment != 0)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "%s = %p: expected an address that is a multiple of %d",
                          tensor->operand.pointer, tensor->data, (int)tensor->alignment);
    return SATTN_OK;
}

static sattn_region region_of(const sattn_tensor *tensor)
{
    return sattn_operand_region(&tensor->operand, tensor->data);
}

static bool coincide(const sattn_tensor *a, const sattn_tensor *b)
{
    return a->may_coincide && b->may_coincide && a->data == b->data &&
           (a->operand.rows <= 1 || a->operand.stride_t == b->operand.stride_t);
}

/* Refuses `name`, which is written, where it meets the tensor. */
static sattn_status check_apart(const char *name, const sattn_region *written,
                                const sattn_tensor *other, bool may_coincide)
{
    const sattn_region region = region_of(other);
    const sattn_span a = sattn_region_span(written), b = sattn_region_span(&region);
    if (a.bytes == 0 || b.bytes == 0 || !sattn_spans_meet(&a, &b))
        return SATTN_OK;
    const sattn_meeting meeting = sattn_regions_meet(written, &region);
    if (meeting == SATTN_APART)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_OVERLAP, "%s %s %s: expected memory of its own%s%s%s", name,
                      meeting == SATTN_MEET ? "overlaps" : "cannot be shown to be apart from",
                      other->operand.pointer, may_coincide ? ", or exactly " : "",
                      may_coincide ? other->operand.name : "",
                      may_coincide ? " with equal strides" : "");
}

static sattn_status check_workspace(const sattn_tensor *tensors, int count,
                                    const sattn_workspace *workspace)
{
    sattn_status status = SATTN_OK;
    const sattn_region region = {.base = (uintptr_t)workspace->memory,
                                 .extent = {1, 1, 1},
                                 .run = workspace->memory ? (int64_t)workspace->size : 0};
    for (int i = 0; status == SATTN_OK && i < count; ++i)
        status = check_apart("workspace", &region, &tensors[i], false);
    return status;
}

sattn_status sattn_tensors_check_data(const sattn_tensor *tensors, int count,
                                      const sattn_workspace *workspace)
{
    sattn_status status = SATTN_OK;
    for (int i = 0; status == SATTN_OK && i < count; ++i)
        status = check_address(&tensors[i]);
    if (status == SATTN_OK)
        status = check_workspace(tensors, count, workspace);
    for (int i = 0; status == SATTN_OK && i < count; ++i) {
        const sattn_region region = region_of(&tensors[i]);
        for (int other = 0; status == SATTN_OK && tensors[i].operand.written && other < count;
             ++other)
            if (other != i && !coincide(&tensors[i], &tensors[other]))
                status = check_apart(tensors[i].operand.pointer, &region, &tensors[other],
                                     tensors[i].may_coincide && tensors[other].may_coincide);
    }
    return status;
}

sattn_status sattn_lengths_check(const int64_t *n_k_valid, int64_t batch, int64_t n_k)
{
    for (int64_t b = 0; n_k_valid && b < batch; ++b)
        if (n_k_valid[b] < 0 || n_k_valid[b] > n_k)
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "n_k_valid[%" PRId64 "] = %" PRId64 ": expected 0 to n_k = %" PRId64,
                              b, n_k_valid[b], n_k);
    return SATTN_OK;
}
