#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# debian_root.sh RELEASE DIRECTORY: the README's two commands on a fresh Debian (bookworm, trixie): a
# minimal system is unpacked into DIRECTORY, gets a copy of this tree's files, and has nothing but
# what ./run installs. Needs root. DIRECTORY is left behind; it is emptied first.
set -euo pipefail

release=$1
directory=$2
source=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")

unmount() {
    mountpoint -q "$directory/proc" && umount "$directory/proc"
    mountpoint -q "$directory/dev" && umount --recursive --lazy "$directory/dev"
    true
}
trap unmount EXIT
unmount
rm -rf --one-file-system "$directory"
mkdir -p "$directory"
debootstrap --variant=minbase "$release" "$directory"
cp /etc/resolv.conf "$directory/etc/resolv.conf"
mount -t proc proc "$directory/proc"
mount --rbind /dev "$directory/dev"
mount --make-rslave "$directory/dev"

mkdir -p "$directory/simdattn"
(cd "$source" && git ls-files -z | tar --create --null --files-from=- --ignore-failed-read) |
    tar --extract --directory "$directory/simdattn"

inside() {
    chroot "$directory" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 CI=true \
        SATTN_REQUIRE_ISA="${SATTN_REQUIRE_ISA:-}" "$@"
}
inside /simdattn/run --yes bench --shape vit-b32-50
inside /simdattn/run --yes test
