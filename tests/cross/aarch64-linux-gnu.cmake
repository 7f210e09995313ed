# SPDX-License-Identifier: MIT
#
# Toolchain file: AArch64 Linux binaries from the distribution's cross compiler, run under qemu-user.
#
#     cmake -S . -B build-arm64 -G Ninja \
#           -DCMAKE_TOOLCHAIN_FILE=tests/cross/aarch64-linux-gnu.cmake
#
# clang instead of gcc: add -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++; it takes headers,
# libraries and linker from the installed cross gcc. The emulator is given to CTest as the command
# that runs a target; a test chooses its CPU model by the environment variable QEMU_CPU, which
# qemu-user reads itself. Without the emulator the build works and the tests cannot run.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

if(NOT CMAKE_C_COMPILER)
  set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
endif()
if(NOT CMAKE_CXX_COMPILER)
  set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
endif()
# Read by clang alone: the triple to compile for.
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)

find_program(QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64})
endif()
