/* SPDX-License-Identifier: MIT
 *
 * checked.h: 64-bit size arithmetic that remembers an overflow. */
#ifndef SATTN_DISPATCH_CHECKED_H
#define SATTN_DISPATCH_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* A sum or product that went wrong once stays wrong, so a whole formula is checked by one look at
 * `overflow` at its end. */
typedef struct sattn_checked {
    int64_t value;
    bool overflow;
} sattn_checked;

static inline sattn_checked sattn_checked_of(int64_t value)
{
    return (sattn_checked){value, false};
}

static inline sattn_checked sattn_checked_add(sattn_checked a, sattn_checked b)
{
    sattn_checked sum = {0, a.overflow || b.overflow};
    if (__builtin_add_overflow(a.value, b.value, &sum.value))
        sum.overflow = true;
    return sum;
}

static inline sattn_checked sattn_checked_mul(sattn_checked a, sattn_checked b)
{
    sattn_checked product = {0, a.overflow || b.overflow};
    if (__builtin_mul_overflow(a.value, b.value, &product.value))
        product.overflow = true;
    return product;
}

#endif
