/* SPDX-License-Identifier: MIT
 *
 * half.h: IEEE binary16 as bits, to and from float, in integer arithmetic: the same on every
 * machine, with or without instructions for it. */
#ifndef SATTN_BENCH_HALF_H
#define SATTN_BENCH_HALF_H

#include <stdint.h>
#include <string.h>

/* Exact. The sign of a NaN and the leading bits of its payload are kept. */
static inline float sattn_half_widen(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t exponent = half >> 10 & 0x1fu, fraction = half & 0x3ffu;
    uint32_t bits = sign;
    if (exponent == 0x1f) {
        bits |= 0x7f800000u | fraction << 13;
    } else if (exponent > 0) {
        bits |= (exponent + (127 - 15)) << 23 | fraction << 13;
    } else if (fraction > 0) { /* a denormal, which float has as a normal number */
        int shift = 0;
        while (!(fraction << shift & 0x400u))
            ++shift;
        bits |= (uint32_t)(127 - 14 - shift) << 23 | (fraction << shift & 0x3ffu) << 13;
    }
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To nearest, ties to even; beyond the largest half it is an infinity. A NaN stays one. */
static inline uint16_t sattn_half_round(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= 0x47800000u) /* 2^16 */
        return (uint16_t)(sign | 0x7c00u);
    /* Units of the last place: 2^-10 of the value's binade, 2^-24 below the least normal half. */
    const int exponent = (int)(magnitude >> 23) - 127;
    const int dropped = exponent >= -14 ? 13 : -exponent - 1; /* bits of the float's fraction */
    if (dropped > 24)
        return (uint16_t)sign;
    const uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t kept = fraction >> dropped;
    const uint32_t rest = fraction & ((1u << dropped) - 1), tie = 1u << (dropped - 1);
    const uint32_t rounded = kept + (rest > tie || (rest == tie && (kept & 1)));
    /* A carry out of the fraction is the next binade, or infinity, as it should be. */
    const uint32_t base = exponent >= -14 ? (uint32_t)(exponent + 14) << 10 : 0;
    return (uint16_t)(sign | (base + rounded));
}

#endif
