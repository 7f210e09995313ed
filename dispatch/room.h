/* SPDX-License-Identifier: MIT
 *
 * room.h: adds up the workspace of a call that has several parts: tensors one behind the other,
 * then memory that the parts, which run one after the other, use in turn. */
#ifndef SATTN_DISPATCH_ROOM_H
#define SATTN_DISPATCH_ROOM_H

#include "dispatch/checked.h"
#include "dispatch/simdattn.h"

typedef struct sattn_room {
    sattn_checked tensors; /* bytes taken so far */
    size_t shared;         /* bytes */
} sattn_room;

/* Takes room for `rows` times `columns` elements, in whole cache lines; returns its offset. */
size_t sattn_room_take(sattn_room *room, int64_t rows, int64_t columns, size_t element_size);

/* A part needs so many bytes while it runs. */
void sattn_room_share(sattn_room *room, size_t bytes);

/* Refuses tensors that reach beyond the address space: before parts are planned on them, which
 * would name fields of their own. */
sattn_status sattn_room_check(const sattn_room *room);

/* The whole; *shared_at gets the offset of what the parts share. */
sattn_status sattn_room_close(const sattn_room *room, size_t *shared_at, size_t *size);

/* A place in the workspace; NULL while there is none. */
static inline void *sattn_room_at(unsigned char *workspace, size_t offset)
{
    return workspace ? workspace + offset : NULL;
}

#endif
