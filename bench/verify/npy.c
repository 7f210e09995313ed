/* SPDX-License-Identifier: MIT
 *
 * npy.c: the .npy format (NumPy enhancement proposal 1, and numpy.lib.format).
 *
 *   offset 0   "\x93NUMPY", then major and minor version, one byte each
 *   offset 8   length of the header text: 2 bytes in version 1, 4 bytes in version 2
 *   then       the header text: a Python dict literal, padded with spaces, ended by a newline
 *   then       the elements
 *
 * The text is parsed as NumPy writes it: three keys, in any order, each exactly once; single or
 * double quotes; spaces anywhere between tokens. Nothing else is taken. */
#include "bench/verify/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PREAMBLE_SIZE = 8,
    FOUND_MAX = 16,    /* characters that a message quotes */
    HEADER_MAX = 65536 /* far above what NumPy writes for any array that is read here */
};

/* By type: what the header calls it. */
static const struct {
    const char *descr, *quoted;
    size_t size;
} types[] = {
    [SATTN_NPY_F4] = {"<f4", "'<f4'", 4}, [SATTN_NPY_I8] = {"<i8", "'<i8'", 8},
    [SATTN_NPY_F2] = {"<f2", "'<f2'", 2}, [SATTN_NPY_F8] = {"<f8", "'<f8'", 8},
    [SATTN_NPY_B1] = {"|b1", "'|b1'", 1},
};

size_t sattn_npy_size(sattn_npy_type type)
{
    return types[type].size;
}

typedef struct npy_reader {
    const char *path;
    FILE *file;
    int64_t offset; /* of the byte that is looked at next */
    char *error;
    size_t error_size;
    const char *text; /* the header text, of text_size bytes, at text_offset in the file */
    int64_t text_offset;
    size_t text_size, at;
} npy_reader;

static bool fail(const npy_reader *r, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(const npy_reader *r, int64_t offset, const char *format, ...)
{
    if (r->error_size == 0)
        return false;
    const int used =
        snprintf(r->error, r->error_size, "%s: at byte %" PRId64 ": ", r->path, offset);
    if (used < 0 || (size_t)used >= r->error_size)
        return false;
    va_list list;
    va_start(list, format);
    vsnprintf(r->error + used, r->error_size - (size_t)used, format, list);
    va_end(list);
    return false;
}

static bool read_bytes(npy_reader *r, void *to, size_t size, const char *what)
{
    const size_t got = fread(to, 1, size, r->file);
    if (got == size) {
        r->offset += (int64_t)size;
        return true;
    }
    return fail(r, r->offset + (int64_t)got, "%s: %s, expected %zu more bytes", what,
                ferror(r->file) ? "read error" : "end of file", size - got);
}

static bool fail_text(const npy_reader *r, const char *expected)
{
    char found[FOUND_MAX + 1];
    size_t size = 0;
    for (; size < FOUND_MAX && r->at + size < r->text_size; ++size) {
        const char c = r->text[r->at + size];
        found[size] = c >= ' ' && c <= '~' ? c : '?';
    }
    found[size] = '\0';
    return fail(r, r->text_offset + (int64_t)r->at, "header: expected %s, found %s", expected,
                size > 0 ? found : "its end");
}

static void skip_spaces(npy_reader *r)
{
    while (r->at < r->text_size && r->text[r->at] == ' ')
        ++r->at;
}

static bool take(npy_reader *r, char c)
{
    skip_spaces(r);
    if (r->at >= r->text_size || r->text[r->at] != c)
        return false;
    ++r->at;
    return true;
}

static bool take_word(npy_reader *r, const char *word)
{
    const size_t size = strlen(word);
    skip_spaces(r);
    if (r->text_size - r->at < size || memcmp(r->text + r->at, word, size) != 0)
        return false;
    r->at += size;
    return true;
}

static bool take_quoted(npy_reader *r, const char *word)
{
    const size_t start = r->at;
    for (const char *quote = "'\""; *quote; ++quote) {
        if (take(r, *quote) && take_word(r, word) && take(r, *quote))
            return true;
        r->at = start;
    }
    return false;
}

static bool parse_type(npy_reader *r, sattn_npy_type type)
{
    skip_spaces(r);
    return take_quoted(r, types[type].descr) || fail_text(r, types[type].quoted);
}

static bool parse_extent(npy_reader *r, int64_t *extent)
{
    skip_spaces(r);
    const size_t start = r->at;
    int64_t value = 0;
    for (; r->at < r->text_size && r->text[r->at] >= '0' && r->text[r->at] <= '9'; ++r->at) {
        const int digit = r->text[r->at] - '0';
        if (value > (INT64_MAX - digit) / 10)
            return fail_text(r, "an extent below 2^63");
        value = value * 10 + digit;
    }
    if (r->at == start)
        return fail_text(r, "an extent");
    if (r->text[start] == '0' && r->at - start > 1) {
        r->at = start;
        return fail_text(r, "an extent without leading zeros");
    }
    *extent = value;
    return true;
}

/* (), (n,), (n, m), (n, m,) */
static bool parse_shape(npy_reader *r, sattn_npy *array)
{
    array->rank = 0;
    if (!take(r, '('))
        return fail_text(r, "'('");
    bool separated = true;
    while (!take(r, ')')) {
        if (!separated)
            return fail_text(r, "',' or ')'");
        if (array->rank == SATTN_NPY_RANK_MAX)
            return fail_text(r, "')' after 8 extents");
        if (!parse_extent(r, &array->shape[array->rank++]))
            return false;
        separated = take(r, ',');
    }
    if (array->rank == 1 && !separated) {
        --r->at;
        return fail_text(r, "',' after the only extent");
    }
    return true;
}

static bool parse_header(npy_reader *r, sattn_npy *array)
{
    static const char *const names[] = {"descr", "fortran_order", "shape"};
    bool seen[] = {false, false, false};
    if (!take(r, '{'))
        return fail_text(r, "'{'");
    for (int n_seen = 0; n_seen < 3; ++n_seen) {
        int key = 0;
        skip_spaces(r);
        while (key < 3 && (seen[key] || !take_quoted(r, names[key])))
            ++key;
        if (key == 3)
            return fail_text(r, "one of 'descr', 'fortran_order', 'shape', each once");
        seen[key] = true;
        if (!take(r, ':'))
            return fail_text(r, "':'");
        if (key == 0 && !parse_type(r, array->type))
            return false;
        if (key == 1 && !take_word(r, "False"))
            return fail_text(r, "False (C order)");
        if (key == 2 && !parse_shape(r, array))
            return false;
        if (!take(r, ',') && n_seen < 2)
            return fail_text(r, "','");
    }
    if (!take(r, '}'))
        return fail_text(r, "'}'");
    skip_spaces(r);
    if (r->at + 1 != r->text_size || r->text[r->at] != '\n')
        return fail_text(r, "spaces and one newline at the end");
    return true;
}

/* Reads up to and with the header; *text is to be freed. */
static bool read_header(npy_reader *r, sattn_npy *array, char **text)
{
    unsigned char start[PREAMBLE_SIZE];
    unsigned char length[4] = {0};
    if (!read_bytes(r, start, sizeof start, "magic"))
        return false;
    if (memcmp(start, "\x93NUMPY", 6) != 0)
        return fail(
            r, 0, "expected the magic 93 4e 55 4d 50 59 (hex), found %02x %02x %02x %02x %02x %02x",
            start[0], start[1], start[2], start[3], start[4], start[5]);
    if ((start[6] != 1 && start[6] != 2) || start[7] != 0)
        return fail(r, 6, "expected version 1.0 or 2.0, found %d.%d", start[6], start[7]);
    if (!read_bytes(r, length, start[6] == 1 ? 2 : 4, "header length"))
        return false;
    const uint32_t size = (uint32_t)length[0] | (uint32_t)length[1] << 8 |
                          (uint32_t)length[2] << 16 | (uint32_t)length[3] << 24;
    if (size > HEADER_MAX)
        return fail(r, PREAMBLE_SIZE, "header length: expected at most %d, found %" PRIu32,
                    HEADER_MAX, size);
    *text = malloc((size_t)size + 1);
    if (!*text)
        return fail(r, PREAMBLE_SIZE, "no memory for a header of %" PRIu32 " bytes", size);
    r->text = *text;
    r->text_offset = r->offset;
    r->text_size = size;
    return read_bytes(r, *text, size, "header") && parse_header(r, array);
}

static bool count_elements(const npy_reader *r, sattn_npy *array)
{
    array->n_elements = 1;
    for (int axis = 0; axis < array->rank; ++axis)
        if (array->shape[axis] == 0)
            array->n_elements = 0;
    for (int axis = 0; array->n_elements > 0 && axis < array->rank; ++axis) {
        if (array->shape[axis] > INT64_MAX / 8 / array->n_elements)
            return fail(r, r->text_offset, "header: expected a shape of less than 2^63 bytes");
        array->n_elements *= array->shape[axis];
    }
    return true;
}

static bool is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* Turns elements from little-endian to this machine's order. */
static void swap_bytes(unsigned char *bytes, size_t n_bytes, size_t size)
{
    for (size_t at = 0; at < n_bytes; at += size)
        for (size_t low = 0; low < size / 2; ++low) {
            const unsigned char byte = bytes[at + low];
            bytes[at + low] = bytes[at + size - 1 - low];
            bytes[at + size - 1 - low] = byte;
        }
}

/* NumPy writes no other bytes for booleans, and C has no use for them. */
static bool check_booleans(const npy_reader *r, const sattn_npy *array)
{
    const uint8_t *const bytes = array->data;
    for (int64_t n = 0; n < array->n_elements; ++n)
        if (bytes[n] > 1)
            return fail(r, r->offset - array->n_elements + n, "elements: expected 0 or 1, found %d",
                        bytes[n]);
    return true;
}

static bool read_elements(npy_reader *r, sattn_npy *array)
{
    const size_t size = sattn_npy_size(array->type);
    /* The file's length first: a damaged shape must not ask for terabytes. */
    if (fseek(r->file, 0, SEEK_END) != 0)
        return fail(r, r->offset, "elements: cannot seek");
    const int64_t end = ftell(r->file);
    const int64_t wanted = array->n_elements * (int64_t)size;
    if (end < r->offset || end - r->offset != wanted)
        return fail(r, r->offset, "elements: expected %" PRId64 " bytes, found %" PRId64, wanted,
                    end < r->offset ? 0 : end - r->offset);
    if (fseek(r->file, (long)r->offset, SEEK_SET) != 0)
        return fail(r, r->offset, "elements: cannot seek");
    array->data = malloc(wanted > 0 ? (size_t)wanted : 1);
    if (!array->data)
        return fail(r, r->offset, "no memory for %" PRId64 " bytes", wanted);
    if (!read_bytes(r, array->data, (size_t)wanted, "elements"))
        return false;
    if (!is_little_endian())
        swap_bytes(array->data, (size_t)wanted, size);
    return array->type != SATTN_NPY_B1 || check_booleans(r, array);
}

static bool read_file(npy_reader *r, int rank, sattn_npy *array)
{
    char *text = NULL;
    bool good = read_header(r, array, &text);
    if (good && rank >= 0 && array->rank != rank)
        good = fail(r, r->text_offset, "header: expected a shape of rank %d, found %d", rank,
                    array->rank);
    good = good && count_elements(r, array) && read_elements(r, array);
    free(text);
    return good;
}

bool sattn_npy_read(const char *path, sattn_npy_type type, int rank, sattn_npy *array, char *error,
                    size_t error_size)
{
    npy_reader reader = {.path = path, .error = error, .error_size = error_size};
    *array = (sattn_npy){.type = type};
    if (error_size > 0)
        error[0] = '\0';
    reader.file = fopen(path, "rb");
    if (!reader.file)
        return fail(&reader, 0, "cannot open the file: %s", strerror(errno));
    const bool good = read_file(&reader, rank, array);
    fclose(reader.file);
    if (!good)
        sattn_npy_free(array);
    return good;
}

void sattn_npy_free(sattn_npy *array)
{
    free(array->data);
    *array = (sattn_npy){0};
}
