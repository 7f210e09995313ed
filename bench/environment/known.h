/* SPDX-License-Identifier: MIT
 *
 * known.h: an answer that a system may not give. */
#ifndef SATTN_BENCH_ENVIRONMENT_KNOWN_H
#define SATTN_BENCH_ENVIRONMENT_KNOWN_H

typedef enum sattn_known { SATTN_NO = 0, SATTN_YES = 1, SATTN_UNKNOWN = -1 } sattn_known;

#endif
