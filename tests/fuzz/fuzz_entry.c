/* SPDX-License-Identifier: MIT
 *
 * fuzz_entry.c: the entry point that libFuzzer calls. */
#include "tests/fuzz/fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_check(data, size);
    return 0;
}
