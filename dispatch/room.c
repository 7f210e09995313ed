/* SPDX-License-Identifier: MIT
 *
 * room.c: see room.h. */
#include "dispatch/room.h"

#include "dispatch/error.h"
#include "dispatch/execute.h"

size_t sattn_room_take(sattn_room *room, int64_t rows, int64_t columns, size_t element_size)
{
    const int64_t line = SATTN_WORKSPACE_ALIGNMENT;
    const int64_t at = room->tensors.value;
    sattn_checked bytes = sattn_checked_mul(sattn_checked_of(rows), sattn_checked_of(columns));
    bytes = sattn_checked_mul(bytes, sattn_checked_of((int64_t)element_size));
    bytes = sattn_checked_add(bytes, sattn_checked_of(line - 1));
    bytes.value -= bytes.value % line;
    room->tensors = sattn_checked_add(room->tensors, bytes);
    return (size_t)at;
}

void sattn_room_share(sattn_room *room, size_t bytes)
{
    if (bytes > room->shared)
        room->shared = bytes;
}

static sattn_status check_size(sattn_checked size)
{
    if (!size.overflow && size.value <= PTRDIFF_MAX)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_TOO_LARGE,
                      "the workspace of these extents would reach beyond the address space");
}

sattn_status sattn_room_check(const sattn_room *room)
{
    return check_size(room->tensors);
}

sattn_status sattn_room_close(const sattn_room *room, size_t *shared_at, size_t *size)
{
    const sattn_checked all =
        sattn_checked_add(room->tensors, sattn_checked_of((int64_t)room->shared));
    *shared_at = (size_t)room->tensors.value;
    *size = (size_t)all.value;
    return check_size(all);
}
