/* SPDX-License-Identifier: MIT
 *
 * conform_tensor.c: one tensor of a manifest,
 *   {"file": "test/q.npy", "dtype": "f32", "shape": [1, 2, 3, 4]}
 * and, where it holds such values on purpose, their numbers: n_neginf, n_posinf, n_nan. */
#include "bench/conform/conform_manifest.h"
#include "bench/half.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    sattn_npy_type type;
} types[] = {
    {"f16", SATTN_NPY_F2},  {"f32", SATTN_NPY_F4}, {"f64", SATTN_NPY_F8},
    {"bool", SATTN_NPY_B1}, {"i64", SATTN_NPY_I8},
};

enum { N_TYPES = sizeof types / sizeof types[0] };

const char *sattn_conform_type_name(sattn_npy_type type)
{
    int t = 0;
    while (types[t].type != type)
        ++t;
    return types[t].name;
}

double sattn_conform_element(const sattn_conform_tensor *tensor, int64_t n)
{
    switch (tensor->type) {
    case SATTN_NPY_F2:
        return (double)sattn_half_widen(((const uint16_t *)tensor->data)[n]);
    case SATTN_NPY_F4:
        return (double)((const float *)tensor->data)[n];
    case SATTN_NPY_F8:
        return ((const double *)tensor->data)[n];
    case SATTN_NPY_B1:
        return (double)((const uint8_t *)tensor->data)[n];
    case SATTN_NPY_I8:
        break;
    }
    return (double)((const int64_t *)tensor->data)[n];
}

/* A path below the manifest's directory: parts of letters, digits, '.', '_' and '-', none of which
 * begins with a dot. So it leads nowhere else. */
static bool is_below(const char *path)
{
    static const char part[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789._-";
    for (;;) {
        const size_t length = strspn(path, part);
        if (length == 0 || *path == '.')
            return false;
        path += length;
        if (!*path)
            return true;
        if (*path++ != '/')
            return false;
    }
}

static bool read_description(const sattn_conform_reader *reader, const json_t *description,
                             const char *name, sattn_conform_tensor *tensor)
{
    static const char *const keys[] = {"file", "dtype", "shape", "n_neginf", "n_posinf", "n_nan"};
    if (!sattn_conform_known_keys(reader, description, name, keys, sizeof keys / sizeof keys[0]))
        return false;
    const char *const dtype = json_string_value(json_object_get(description, "dtype"));
    int t = 0;
    while (dtype && t < N_TYPES && strcmp(dtype, types[t].name) != 0)
        ++t;
    if (!dtype || t == N_TYPES)
        return sattn_conform_refuse(reader,
                                    "%s: dtype: expected f16, f32, f64, bool or i64, "
                                    "found %s",
                                    name, dtype ? dtype : "no text");
    tensor->type = types[t].type;
    const json_t *const shape = json_object_get(description, "shape");
    const size_t rank = json_array_size(shape);
    if (!json_is_array(shape) || rank == 0 || rank > SATTN_CONFORM_RANK_MAX)
        return sattn_conform_refuse(reader, "%s: shape: expected an array of 1 to %d extents", name,
                                    SATTN_CONFORM_RANK_MAX);
    tensor->rank = (int)rank;
    for (size_t axis = 0; axis < rank; ++axis) {
        const json_t *const extent = json_array_get(shape, axis);
        tensor->shape[axis] = json_integer_value(extent);
        if (!json_is_integer(extent) || tensor->shape[axis] < 0)
            return sattn_conform_refuse(reader, "%s: shape: expected extents of 0 or more", name);
    }
    return true;
}

static void print_shape(const int64_t *shape, int rank, char *text, size_t size)
{
    size_t at = 0;
    for (int axis = 0; axis < rank && at < size; ++axis)
        at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, axis ? ", " : "[", shape[axis]);
    if (at < size)
        snprintf(text + at, size - at, "%s", rank ? "]" : "[]");
}

static bool read_data(const sattn_conform_reader *reader, const json_t *description,
                      const char *name, sattn_conform_tensor *tensor)
{
    const char *const file = json_string_value(json_object_get(description, "file"));
    if (!file || !is_below(file))
        return sattn_conform_refuse(reader,
                                    "%s: file: expected a path below the manifest, found %s", name,
                                    file ? file : "no text");
    char path[4096], error[SATTN_CONFORM_TEXT_SIZE];
    const int length = snprintf(path, sizeof path, "%s/%s", reader->directory, file);
    if (length < 0 || (size_t)length >= sizeof path)
        return sattn_conform_refuse(reader, "%s: file: the path is too long", name);
    sattn_npy array;
    if (!sattn_npy_read(path, tensor->type, -1, &array, error, sizeof error))
        return sattn_conform_refuse(reader, "%s: %s", name, error);
    tensor->data = array.data; /* freed with free(), as sattn_npy_free does */
    tensor->n_elements = array.n_elements;
    if (array.rank == tensor->rank &&
        memcmp(array.shape, tensor->shape, (size_t)array.rank * sizeof *array.shape) == 0)
        return true;
    char here[160], there[160];
    print_shape(array.shape, array.rank, here, sizeof here);
    print_shape(tensor->shape, tensor->rank, there, sizeof there);
    return sattn_conform_refuse(reader, "%s: %s has the shape %s, the manifest says %s", name, file,
                                here, there);
}

/* What is not finite is there on purpose, or the file is damaged. */
static bool check_values(const sattn_conform_reader *reader, const json_t *description,
                         const char *name, const sattn_conform_tensor *tensor)
{
    static const char *const keys[] = {"n_neginf", "n_posinf", "n_nan"};
    json_int_t found[3] = {0, 0, 0};
    for (int64_t n = 0; n < tensor->n_elements; ++n) {
        const double value = sattn_conform_element(tensor, n);
        if (!isfinite(value))
            ++found[isnan(value) ? 2 : value > 0];
    }
    for (int k = 0; k < 3; ++k) {
        const json_t *const stated = json_object_get(description, keys[k]);
        if (stated && !json_is_integer(stated))
            return sattn_conform_refuse(reader, "%s: %s: expected a number", name, keys[k]);
        if (json_integer_value(stated) != found[k])
            return sattn_conform_refuse(reader,
                                        "%s: %s: the file holds %" JSON_INTEGER_FORMAT
                                        ", the manifest says %" JSON_INTEGER_FORMAT,
                                        name, keys[k], found[k], json_integer_value(stated));
    }
    return true;
}

bool sattn_conform_tensor_read(const sattn_conform_reader *reader, const json_t *description,
                               const char *name, sattn_conform_tensor *tensor)
{
    *tensor = (sattn_conform_tensor){0};
    return read_description(reader, description, name, tensor) &&
           read_data(reader, description, name, tensor) &&
           check_values(reader, description, name, tensor);
}
