/* SPDX-License-Identifier: MIT
 *
 * ragged_check.c: see ragged_check.h. */
#include "dispatch/ragged_check.h"

#include "dispatch/attention_check.h"
#include "dispatch/error.h"

#include <inttypes.h>

static sattn_status check_starts(const char *name, const int64_t *starts, int64_t n_sequences,
                                 const char *rows_name, int64_t n_rows)
{
    if (!starts)
        return sattn_fail(SATTN_ERR_ARGUMENT, "ragged.%s is NULL: expected starts", name);
    if ((uintptr_t)starts % _Alignof(int64_t) != 0)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "ragged.%s = %p: expected an address that is a multiple of %d", name,
                          (const void *)starts, (int)_Alignof(int64_t));
    int64_t least = 0;
    for (int64_t b = 0; b <= n_sequences; ++b) {
        if (starts[b] < least || starts[b] > n_rows)
            return sattn_fail(
                SATTN_ERR_ARGUMENT,
                "ragged.%s[%" PRId64 "] = %" PRId64 ": expected %" PRId64 "%s to %s = %" PRId64,
                name, b, starts[b], least, b > 0 ? ", the start before," : "", rows_name, n_rows);
        least = starts[b];
    }
    return SATTN_OK;
}

static sattn_status check_fields(const sattn_attention_args *a)
{
    const char *const field = a->mask.kind != SATTN_MASK_NONE ? "mask"
                              : a->scores                     ? "scores"
                              : a->n_k_valid                  ? "n_k_valid"
                                                              : NULL;
    if (field)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "%s is set: expected none in a ragged batch, whose rows it cannot name",
                          field);
    return SATTN_OK;
}

sattn_status sattn_ragged_check(const sattn_attention_args *a, const sattn_ragged *ragged)
{
    if (!a || !ragged)
        return sattn_fail(SATTN_ERR_ARGUMENT, "%s is NULL", a ? "ragged" : "args");
    const struct {
        const char *name;
        int64_t value;
    } extents[] = {{"batch", a->batch}, {"n_q", a->n_q}, {"n_k", a->n_k}};
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; ++i)
        if (extents[i].value < 0)
            return sattn_fail(SATTN_ERR_ARGUMENT, "%s = %" PRId64 ": expected 0 or more",
                              extents[i].name, extents[i].value);
    sattn_status status = check_fields(a);
    if (status == SATTN_OK)
        status = check_starts("q_starts", ragged->q_starts, a->batch, "n_q", a->n_q);
    if (status == SATTN_OK)
        status = check_starts("k_starts", ragged->k_starts, a->batch, "n_k", a->n_k);
    return status;
}

static bool meets(const sattn_workspace *workspace, const void *data, int64_t bytes)
{
    const sattn_span own = {(uintptr_t)workspace->memory, workspace->size};
    const sattn_span other = {(uintptr_t)data, (uint64_t)bytes};
    return own.begin && own.bytes > 0 && data && bytes > 0 && sattn_spans_meet(&own, &other);
}

sattn_status sattn_ragged_check_data(const sattn_attention_args *args, const sattn_ragged *ragged,
                                     const sattn_operand operands[SATTN_OPERAND_COUNT],
                                     const sattn_workspace *workspace, bool *o_is_q)
{
    const int64_t n = args->batch;
    const struct {
        const char *name;
        const int64_t *data;
        int64_t count;
    } arrays[] = {{"ragged.q_starts", ragged->q_starts, n + 1},
                  {"ragged.k_starts", ragged->k_starts, n + 1},
                  {"causal_offset", args->causal_offset, n}};
    sattn_attention_args a = *args;
    a.batch = 1;
    sattn_status status =
        sattn_attention_check_data(&a, SATTN_COMPUTE_FUSED, operands, workspace, o_is_q);
    for (size_t i = 0; status == SATTN_OK && i < sizeof arrays / sizeof arrays[0]; ++i) {
        const int64_t bytes = arrays[i].count * (int64_t)sizeof(int64_t);
        status = sattn_overlap_check_array(&a, operands, arrays[i].name, arrays[i].data, bytes);
        if (status == SATTN_OK && meets(workspace, arrays[i].data, bytes))
            status = sattn_fail(SATTN_ERR_OVERLAP,
                                "workspace overlaps %s: expected memory of its "
                                "own",
                                arrays[i].name);
    }
    return status;
}
