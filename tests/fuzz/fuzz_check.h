/* SPDX-License-Identifier: MIT
 *
 * fuzz_check.h: makes a call and judges it. */
#ifndef SATTN_TESTS_FUZZ_CHECK_H
#define SATTN_TESTS_FUZZ_CHECK_H

#include "tests/fuzz/fuzz_call.h"

typedef enum fuzz_outcome {
    FUZZ_REFUSED,  /* with a text, and nothing was written */
    FUZZ_ACCEPTED, /* only the output's elements were written */
    FUZZ_VERIFIED, /* and they agree with the oracle */
} fuzz_outcome;

/* One input. Says what is wrong and aborts where the library broke a promise. */
fuzz_outcome fuzz_check(const uint8_t *data, size_t size);

#endif
