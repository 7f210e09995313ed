# SPDX-License-Identifier: MIT
#
# Toolchain file: Linux binaries for IBM Z, a big-endian machine, from the distribution's cross
# compiler, run under qemu-user. No vector kernels are built for it: this is where byte order and
# everything that takes x86-64 or AArch64 for granted would show.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)

if(NOT CMAKE_C_COMPILER)
  set(CMAKE_C_COMPILER s390x-linux-gnu-gcc)
endif()

find_program(QEMU_S390X NAMES qemu-s390x qemu-s390x-static)
if(QEMU_S390X)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_S390X})
endif()
