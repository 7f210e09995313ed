/* SPDX-License-Identifier: MIT
 *
 * fuzz_replay.c: runs stored inputs of the fuzzer, with any compiler.
 *
 *   fuzz_replay FILE COUNT   each input of FILE, and changed copies of them up to COUNT inputs
 *
 * FILE holds inputs one after the other, each behind its size as two bytes, low byte first. */
#include "bench/verify/inputs.h"
#include "tests/fuzz/fuzz_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 1 << 16 };

typedef struct counts {
    int64_t outcome[3];
} counts;

static void replay(counts *n, const uint8_t *input, size_t size)
{
    /* A copy of its own, so that no byte behind it can be read unseen. */
    uint8_t *const copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, input, size);
    ++n->outcome[fuzz_check(copy, size)];
    free(copy);
}

/* The same every time: a few bytes get other values. */
static size_t change(uint8_t *input, size_t size, uint64_t round)
{
    const int n = 1 + (int)(sattn_random_bits(1, 0, round) % 4);
    for (int i = 0; i < n && size > 0; ++i) {
        const uint64_t bits = sattn_random_bits(2, (uint64_t)i, round);
        input[bits % size] = (uint8_t)(bits >> 32);
    }
    return size;
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *const file = fopen(path, "rb");
    uint8_t *data = NULL;
    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) >= 0) {
        *size = (size_t)ftell(file);
        data = malloc(*size + 1);
        rewind(file);
        if (data && fread(data, 1, *size, file) != *size) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

/* Where each input starts; the number of inputs, or -1 where the file is damaged. */
static int64_t find_inputs(const uint8_t *data, size_t size, size_t *starts)
{
    int64_t n = 0;
    for (size_t at = 0; at < size; ++n) {
        if (size - at < 2)
            return -1;
        const size_t length = (size_t)(data[at] | data[at + 1] << 8);
        if (length > size - at - 2)
            return -1;
        starts[n] = at;
        at += 2 + length;
    }
    return n;
}

int main(int argc, char **argv)
{
    static uint8_t input[INPUT_MAX];
    size_t size = 0;
    counts n = {{0}};
    const int64_t wanted = argc == 3 ? atoll(argv[2]) : 0;
    if (wanted <= 0) {
        fprintf(stderr, "usage: fuzz_replay FILE COUNT\n");
        return 2;
    }
    uint8_t *const data = read_file(argv[1], &size);
    size_t *const starts = malloc((size / 2 + 1) * sizeof *starts);
    const int64_t n_inputs = data && starts ? find_inputs(data, size, starts) : -1;
    if (n_inputs <= 0) {
        fprintf(stderr, "%s: expected inputs of the fuzzer\n", argv[1]);
        free(starts);
        free(data);
        return 2;
    }
    for (int64_t i = 0; i < wanted; ++i) {
        const uint8_t *const at = data + starts[i % n_inputs];
        const size_t length = (size_t)(at[0] | at[1] << 8);
        memcpy(input, at + 2, length);
        replay(&n, input, i < n_inputs ? length : change(input, length, (uint64_t)i));
    }
    printf("%lld inputs, %lld of them stored: %lld were verified, %lld accepted, %lld refused\n",
           (long long)wanted, (long long)(n_inputs < wanted ? n_inputs : wanted),
           (long long)n.outcome[FUZZ_VERIFIED], (long long)n.outcome[FUZZ_ACCEPTED],
           (long long)n.outcome[FUZZ_REFUSED]);
    free(data);
    free(starts);
    /* Were nearly all refused, or none, the inputs would no longer fit the decoder. */
    return n.outcome[FUZZ_VERIFIED] >= wanted / 5 && n.outcome[FUZZ_REFUSED] >= wanted / 20 ? 0 : 1;
}
