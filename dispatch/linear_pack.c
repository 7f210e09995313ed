/* SPDX-License-Identifier: MIT
 *
 * linear_pack.c: sattn_linear_pack and what it leaves in memory: a tag, then blocks of tile_keys
 * outputs as kernels/contract.h has them. The tag names the kernel and its tiles, so that weights
 * never meet a kernel that would read them otherwise. */
#include "dispatch/linear_pack.h"

#include "dispatch/checked.h"
#include "dispatch/error.h"
#include "dispatch/execute.h"

#include <inttypes.h>
#include <string.h>

enum { TAG_BYTES = 128, KERNEL_NAME = 72 };

/* As it stands in memory, in the byte order of the machine. */
typedef struct pack_tag {
    char magic[8];
    char kernel[KERNEL_NAME];
    int64_t n_in, n_out;
    int32_t tile_keys, tile_d;
} pack_tag;

_Static_assert(sizeof(pack_tag) <= TAG_BYTES && TAG_BYTES % SATTN_WORKSPACE_ALIGNMENT == 0,
               "weights begin on a cache line behind the tag");

static const char magic[8] = {'S', 'A', 'T', 'T', 'N', 'L', 'W', '1'};

/* ---- the size */

static int64_t blocks_of(int64_t extent, int64_t tile)
{
    return (extent + tile - 1) / tile;
}

static sattn_status size_of(const sattn_linear_weights *weights, const sattn_kernel *kernel,
                            size_t *size)
{
    const int64_t tile_keys = kernel->tile_keys, tile_d = kernel->tile_d;
    const sattn_checked outputs =
        sattn_checked_of(blocks_of(weights->n_out, tile_keys) * tile_keys);
    const sattn_checked inputs = sattn_checked_of(blocks_of(weights->n_in, tile_d) * tile_d);
    const sattn_checked bytes =
        sattn_checked_mul(sattn_checked_mul(outputs, inputs), sattn_checked_of(sizeof(float)));
    const sattn_checked all = sattn_checked_add(bytes, sattn_checked_of(TAG_BYTES));
    if (all.overflow || all.value > PTRDIFF_MAX)
        return sattn_fail(SATTN_ERR_TOO_LARGE,
                          "n_in = %" PRId64 ", n_out = %" PRId64
                          ": packed weights would reach beyond the address space",
                          weights->n_in, weights->n_out);
    *size = (size_t)all.value;
    return SATTN_OK;
}

/* ---- reading */

sattn_status sattn_pack_read(const sattn_linear_weights *weights, const sattn_linear_names *names,
                             const sattn_kernel **kernel, size_t *size)
{
    pack_tag tag;
    if ((uintptr_t)weights->packed % SATTN_WORKSPACE_ALIGNMENT != 0)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "%s = %p: expected an address that is a multiple of 64", names->packed,
                          weights->packed);
    memcpy(&tag, weights->packed, sizeof tag);
    if (memcmp(tag.magic, magic, sizeof magic) != 0 || memchr(tag.kernel, 0, KERNEL_NAME) == NULL)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "%s: its tag is missing: expected what sattn_linear_pack wrote",
                          names->packed);
    if (tag.n_in != weights->n_in || tag.n_out != weights->n_out)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "%s: the weights packed are [%" PRId64 ", %" PRId64
                          "]: expected [n_out, n_in] = [%" PRId64 ", %" PRId64 "]",
                          names->packed, tag.n_out, tag.n_in, weights->n_out, weights->n_in);
    *kernel = sattn_kernel_by_name(tag.kernel);
    if (!*kernel || (*kernel)->op != SATTN_OP_linear || (*kernel)->tile_keys != tag.tile_keys ||
        (*kernel)->tile_d != tag.tile_d)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "%s: the weights are packed for %s with tiles of %d outputs x %d inputs, "
                          "which this build does not have: pack them again",
                          names->packed, tag.kernel, (int)tag.tile_keys, (int)tag.tile_d);
    return size_of(weights, *kernel, size);
}

const float *sattn_pack_rows(const void *packed)
{
    return (const float *)(const void *)((const char *)packed + TAG_BYTES);
}

/* ---- writing */

/* The kernel that a call with so many rows would run, and the size of a pack for it. */
static sattn_status choose(const sattn_linear_weights *weights, int64_t n_rows,
                           const sattn_options *options, const sattn_kernel **kernel, size_t *size)
{
    sattn_overrides overrides;
    sattn_decision decision;
    sattn_status status = sattn_linear_check_unpacked(weights, n_rows);
    if (status == SATTN_OK)
        status = sattn_options_check(options);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    if (status != SATTN_OK)
        return status;
    const sattn_shape_class shape_class = sattn_linear_class(weights, n_rows, true, options);
    status = sattn_choose_apart(&shape_class, &overrides, kernel, &decision);
    return status == SATTN_OK ? size_of(weights, *kernel, size) : status;
}

sattn_status sattn_linear_pack_size(const sattn_linear_weights *weights, int64_t n_rows,
                                    const sattn_options *options, size_t *size)
{
    const sattn_kernel *kernel;
    const sattn_status status = sattn_size_begin(size);
    return status == SATTN_OK ? choose(weights, n_rows, options, &kernel, size) : status;
}

static void write_tag(const sattn_linear_weights *weights, const sattn_kernel *kernel, void *packed)
{
    pack_tag tag = {.n_in = weights->n_in,
                    .n_out = weights->n_out,
                    .tile_keys = kernel->tile_keys,
                    .tile_d = kernel->tile_d};
    memcpy(tag.magic, magic, sizeof magic);
    memcpy(tag.kernel, kernel->name, strlen(kernel->name) + 1); /* test_layers_calls: they fit */
    memset(packed, 0, TAG_BYTES);
    memcpy(packed, &tag, sizeof tag);
}

/* One block of outputs from o0 on: [ceil(n_in / tile_d)][tile_keys][tile_d], zeros where W ends. */
static void pack_block(const sattn_linear_weights *weights, const sattn_kernel *kernel, int64_t o0,
                       float *to)
{
    const float *const w = weights->w.data;
    const int64_t stride = weights->n_out > 1 ? weights->w.stride_t : 0;
    for (int64_t x0 = 0; x0 < weights->n_in; x0 += kernel->tile_d)
        for (int64_t o = o0; o < o0 + kernel->tile_keys; ++o)
            for (int64_t x = x0; x < x0 + kernel->tile_d; ++x)
                *to++ = o < weights->n_out && x < weights->n_in ? w[o * stride + x] : 0.0f;
}

sattn_status sattn_linear_pack(const sattn_linear_weights *weights, int64_t n_rows,
                               const sattn_options *options, void *packed, size_t size)
{
    const sattn_kernel *kernel;
    size_t needed = 0;
    sattn_status status = choose(weights, n_rows, options, &kernel, &needed);
    if (status != SATTN_OK)
        return status;
    if (!packed)
        return sattn_fail(SATTN_ERR_ARGUMENT, "packed is NULL: expected memory");
    if ((uintptr_t)packed % SATTN_WORKSPACE_ALIGNMENT != 0)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "packed = %p: expected an address that is a multiple of 64", packed);
    if (size < needed)
        return sattn_fail(SATTN_ERR_ARGUMENT, "size = %zu: expected at least %zu", size, needed);
    const sattn_mut_view target = {.data = packed};
    sattn_tensor tensors[] = {
        sattn_tensor_read("w", "w.data", &weights->w, 1, weights->n_out, weights->n_in),
        sattn_tensor_written("packed", "packed", &target, 1, 1, (int64_t)(needed / sizeof(float)))};
    status = sattn_tensors_check_data(tensors, 2, &(sattn_workspace){NULL, 0});
    if (status != SATTN_OK)
        return status;
    write_tag(weights, kernel, packed);
    float *const to = (float *)(void *)((char *)packed + TAG_BYTES);
    const int64_t tile_keys = kernel->tile_keys;
    const int64_t block = tile_keys * blocks_of(weights->n_in, kernel->tile_d) * kernel->tile_d;
    for (int64_t b = 0; b < blocks_of(weights->n_out, tile_keys); ++b)
        pack_block(weights, kernel, b * tile_keys, to + b * block);
    return SATTN_OK;
}
