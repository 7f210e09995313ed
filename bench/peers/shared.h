/* SPDX-License-Identifier: MIT
 *
 * shared.h: memory that other processes can map, in large pages if the system can make them. */
#ifndef SATTN_BENCH_PEERS_SHARED_H
#define SATTN_BENCH_PEERS_SHARED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sattn_shared {
    void *base;  /* NULL: none */
    size_t size; /* as asked for, up to the end of a page; from 2 MiB on of a large one */
    int file;    /* what another process maps */
} sattn_shared;

/* Zeroed, on the boundary of a large page. False: no memory, or no such thing on this system. */
bool sattn_shared_open(sattn_shared *shared, size_t size);
void sattn_shared_close(sattn_shared *shared);

/* What another process does with the file; to be unmapped with munmap. NULL: it cannot. */
void *sattn_shared_map(int file, size_t size);

#endif
