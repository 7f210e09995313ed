/* SPDX-License-Identifier: MIT
 *
 * shared.c: memory behind a file descriptor that has no name, so that nothing stays behind if this
 * process is killed.
 *
 * Systems rarely give large pages to shared memory by themselves (transparent_hugepage/
 * shmem_enabled), and without them reading from memory is slower by some percent. Linux since 6.1
 * makes them of pages that are there when it is asked to (MADV_COLLAPSE); whoever maps the file at
 * a multiple of their size then has them too. */
#define _GNU_SOURCE /* memfd_create, madvise */

#include "bench/peers/shared.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE_PAGE = 1 << 21 };

#if defined(__linux__)
static int new_file(void)
{
    return memfd_create("simdattn", MFD_CLOEXEC);
}

/* Large pages for memory that has been touched; a wish, not a need. */
static void make_pages_large(void *base, size_t size)
{
    enum { COLLAPSE = 25 }; /* MADV_COLLAPSE, which older headers lack */
    (void)madvise(base, size, COLLAPSE);
}
#else
/* Two processes may hit on the same name, but not on the same file. */
static int new_file(void)
{
    char name[32];
    snprintf(name, sizeof name, "/simdattn-%ld", (long)getpid());
    const int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0)
        shm_unlink(name);
    return file;
}

static void make_pages_large(void *base, size_t size)
{
    (void)base;
    (void)size;
}
#endif

static size_t rounded(size_t size)
{
    const size_t page = size < LARGE_PAGE ? (size_t)sysconf(_SC_PAGESIZE) : LARGE_PAGE;
    return (size + page - 1) / page * page;
}

/* Finds a place by reserving more than is needed. */
void *sattn_shared_map(int file, size_t size)
{
    int flags = MAP_SHARED | MAP_FIXED;
#if defined(MAP_POPULATE)
    flags |= MAP_POPULATE; /* no page is missed for the first time while the clock runs */
#endif
    const size_t needed = rounded(size), reserved = needed + LARGE_PAGE;
    char *const place = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((void *)place == MAP_FAILED)
        return NULL;
    const size_t before = (LARGE_PAGE - (uintptr_t)place % LARGE_PAGE) % LARGE_PAGE;
    char *const base = place + before;
    void *const mapped = mmap(base, size, PROT_READ | PROT_WRITE, flags, file, 0);
    if (before > 0)
        munmap(place, before);
    if (mapped == MAP_FAILED) {
        munmap(base, reserved - before);
        return NULL;
    }
    munmap(base + needed, reserved - before - needed);
    return mapped;
}

bool sattn_shared_open(sattn_shared *shared, size_t size)
{
    *shared = (sattn_shared){.file = new_file()};
    if (shared->file < 0)
        return false;
    if (size > 0 && ftruncate(shared->file, (off_t)rounded(size)) == 0) {
        shared->base = sattn_shared_map(shared->file, rounded(size));
        shared->size = rounded(size);
    }
    if (!shared->base) {
        sattn_shared_close(shared);
        return false;
    }
    memset(shared->base, 0, shared->size);
    make_pages_large(shared->base, shared->size);
    return true;
}

void sattn_shared_close(sattn_shared *shared)
{
    if (shared->base)
        munmap(shared->base, shared->size);
    if (shared->file >= 0)
        close(shared->file);
    *shared = (sattn_shared){.file = -1};
}
