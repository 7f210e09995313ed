/* SPDX-License-Identifier: MIT
 *
 * fuzz_check.h: what becomes of an input: a call (fuzz_check.c), or a profile that is read
 * (fuzz_profile_check.c). */
#ifndef SATTN_TESTS_FUZZ_CHECK_H
#define SATTN_TESTS_FUZZ_CHECK_H

#include <stddef.h>
#include <stdint.h>

typedef enum fuzz_outcome {
    FUZZ_REFUSED,  /* with a text, and nothing was written */
    FUZZ_ACCEPTED, /* only the output's elements were written; some of the profile is passed over */
    FUZZ_VERIFIED, /* and they agree with the oracle; all of the profile is there */
} fuzz_outcome;

/* One input. Says what is wrong and aborts where the library broke a promise. */
fuzz_outcome fuzz_check(const uint8_t *data, size_t size);

#endif
