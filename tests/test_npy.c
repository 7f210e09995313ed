/* SPDX-License-Identifier: MIT
 *
 * test_npy.c: the .npy reader takes whole files and names what is wrong with damaged ones. */
#define _POSIX_C_SOURCE 200809L
#include "bench/verify/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64]; /* several of these programs may run at once in one directory */

enum { FILE_MAX = 1024 };

typedef struct file {
    unsigned char bytes[FILE_MAX];
    size_t size;
} file;

/* A file of version `major`.0 with this header text, padded, and `data_size` bytes of data. */
static file make_file(int major, const char *header, const void *data, size_t data_size)
{
    file f = {.size = 0};
    const size_t start = major == 1 ? 10 : 12;
    const size_t length = (start + strlen(header) + 1 + 63) / 64 * 64 - start;
    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[6] = (unsigned char)major;
    for (size_t i = 0; i < start - 8; ++i)
        f.bytes[8 + i] = (unsigned char)(length >> 8 * i);
    memset(f.bytes + start, ' ', length);
    memcpy(f.bytes + start, header, strlen(header));
    f.bytes[start + length - 1] = '\n';
    memcpy(f.bytes + start + length, data, data_size);
    f.size = start + length + data_size;
    return f;
}

static void write_file(const file *f, size_t size)
{
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(f->bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

/* The file's first `size` bytes are refused, naming the file, a byte, and `text`. */
static void expect_refusal(const file *f, size_t size, sattn_npy_type type, int rank,
                           const char *text)
{
    sattn_npy array;
    char error[512] = "";
    write_file(f, size);
    if (sattn_npy_read(path, type, rank, &array, error, sizeof error))
        fail_msg("%zu of %zu bytes were taken, expected \"%s\"", size, f->size, text);
    assert_non_null(strstr(error, path));
    assert_non_null(strstr(error, "at byte "));
    if (!strstr(error, text))
        fail_msg("\"%s\" lacks \"%s\"", error, text);
    assert_null(array.data);
}

static const float values[6] = {1.5f, -2.0f, 0.0f, 3.25f, 1e-30f, 7.0f};
static const char header_2x3[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

static void test_whole_files(void **state)
{
    (void)state;
    const int64_t lengths[2] = {247, -1};
    char error[512] = "";
    sattn_npy array;
    for (int major = 1; major <= 2; ++major) {
        const file f = make_file(major, header_2x3, values, sizeof values);
        write_file(&f, f.size);
        assert_true(sattn_npy_read(path, SATTN_NPY_F4, 2, &array, error, sizeof error));
        assert_int_equal(array.rank, 2);
        assert_true(array.shape[0] == 2 && array.shape[1] == 3 && array.n_elements == 6);
        assert_memory_equal(array.data, values, sizeof values);
        sattn_npy_free(&array);
    }
    const file f = make_file(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }",
                             lengths, sizeof lengths);
    write_file(&f, f.size);
    assert_true(sattn_npy_read(path, SATTN_NPY_I8, -1, &array, error, sizeof error));
    assert_memory_equal(array.data, lengths, sizeof lengths);
    sattn_npy_free(&array);
}

/* One file of each element type, read as itself and as nothing else. */
static void test_types(void **state)
{
    (void)state;
    static const struct {
        sattn_npy_type type;
        const char *descr;
        unsigned char bytes[16]; /* two elements */
    } cases[] = {
        {SATTN_NPY_F4, "<f4", {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
        {SATTN_NPY_I8,
         "<i8",
         {1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
        {SATTN_NPY_F2, "<f2", {0, 0x3c, 0, 0xc0}},
        {SATTN_NPY_F8, "<f8", {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}},
        {SATTN_NPY_B1, "|b1", {1, 0}},
    };
    enum { N = sizeof cases / sizeof cases[0] };
    for (int c = 0; c < N; ++c) {
        char header[128], error[512] = "";
        const size_t size = 2 * sattn_npy_size(cases[c].type);
        sattn_npy array;
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }",
                 cases[c].descr);
        const file f = make_file(1, header, cases[c].bytes, size);
        for (int other = 0; other < N; ++other)
            if (other != c)
                expect_refusal(&f, f.size, cases[other].type, 1, cases[other].descr);
        write_file(&f, f.size);
        assert_true(sattn_npy_read(path, cases[c].type, 1, &array, error, sizeof error));
        assert_int_equal(array.n_elements, 2);
        if (cases[c].type == SATTN_NPY_F4)
            assert_true(((float *)array.data)[0] == 1 && ((float *)array.data)[1] == -2);
        if (cases[c].type == SATTN_NPY_I8)
            assert_true(((int64_t *)array.data)[0] == 1 && ((int64_t *)array.data)[1] == -1);
        if (cases[c].type == SATTN_NPY_F2)
            assert_true(((uint16_t *)array.data)[0] == 0x3c00 &&
                        ((uint16_t *)array.data)[1] == 0xc000);
        if (cases[c].type == SATTN_NPY_F8)
            assert_true(((double *)array.data)[0] == 1 && ((double *)array.data)[1] == -2);
        if (cases[c].type == SATTN_NPY_B1)
            assert_true(((uint8_t *)array.data)[0] == 1 && ((uint8_t *)array.data)[1] == 0);
        sattn_npy_free(&array);
    }
    file f = make_file(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\1\2", 2);
    expect_refusal(&f, f.size, SATTN_NPY_B1, 1, "at byte 129: elements: expected 0 or 1, found 2");
}

static void test_every_cut(void **state)
{
    (void)state;
    const file f = make_file(1, header_2x3, values, sizeof values);
    for (size_t size = 0; size < f.size; ++size)
        expect_refusal(&f, size, SATTN_NPY_F4, 2, "expected");
    file longer = f;
    longer.size += 1;
    expect_refusal(&longer, longer.size, SATTN_NPY_F4, 2, "expected");
}

static void test_wrong_headers(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 1), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3), }",
        "{'descr': '<f4', 'fortran_order': False, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1, }",
        "not a dictionary",
        "",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        const file f = make_file(1, wrong[i], values, sizeof values);
        expect_refusal(&f, f.size, SATTN_NPY_F4, 2, "expected");
    }
}

static void test_wrong_preamble(void **state)
{
    (void)state;
    file f = make_file(1, header_2x3, values, sizeof values);
    f.bytes[0] = 'X';
    expect_refusal(&f, f.size, SATTN_NPY_F4, 2, "expected");
    f = make_file(1, header_2x3, values, sizeof values);
    f.bytes[6] = 3;
    expect_refusal(&f, f.size, SATTN_NPY_F4, 2, "expected version 1.0 or 2.0, found 3.0");
}

static void test_missing_file(void **state)
{
    (void)state;
    sattn_npy array;
    char error[512] = "";
    remove(path);
    assert_true(!sattn_npy_read(path, SATTN_NPY_F4, 2, &array, error, sizeof error));
    assert_non_null(strstr(error, path));
    assert_non_null(strstr(error, "cannot open"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_files),    cmocka_unit_test(test_types),
        cmocka_unit_test(test_every_cut),      cmocka_unit_test(test_wrong_headers),
        cmocka_unit_test(test_wrong_preamble), cmocka_unit_test(test_missing_file),
    };
    snprintf(path, sizeof path, "test_npy.%ld.tmp", (long)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
