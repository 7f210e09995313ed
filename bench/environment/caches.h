/* SPDX-License-Identifier: MIT
 *
 * caches.h: the data caches of one CPU. */
#ifndef SATTN_BENCH_ENVIRONMENT_CACHES_H
#define SATTN_BENCH_ENVIRONMENT_CACHES_H

#include <stdint.h>

/* 0: not known. */
typedef struct sattn_caches {
    int64_t l1d_bytes, l2_bytes, l3_bytes, line_bytes;
} sattn_caches;

/* From the files below `root` (sysfile.h); what they leave open is asked of the C library where
 * `root` is the real one. */
void sattn_caches_read(const char *root, sattn_caches *caches);

/* Size of the last level that is known; 0: none is. */
int64_t sattn_caches_last_level(const sattn_caches *caches);

#endif
