/* SPDX-License-Identifier: MIT
 *
 * softcap.h: what the softcap of scores, softcap * tanh(s / softcap), is on all ISAs. */
#ifndef SATTN_KERNELS_VEC_SOFTCAP_H
#define SATTN_KERNELS_VEC_SOFTCAP_H

/* Below this quotient softcap * tanh(s / softcap) is s: tanh(x) = x (1 - x^2 / 3 + ...), and a
 * third of 2^-26 is less than half a unit of f32. Taking s as it is also spares it a quotient below
 * the normal numbers, which would have lost digits. */
#define SATTN_SOFTCAP_SMALL 0x1p-13f

#endif
