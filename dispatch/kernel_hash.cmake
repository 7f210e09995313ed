# SPDX-License-Identifier: MIT
#
# kernel_hash.cmake: writes OUTPUT, the C file with sattn_built_kernel_hash: a hash of all files below
# kernels/ of the tree SOURCE, with their names, and of FLAGS, what the compiler is given for them. Run
# with -P at build time; the file is touched only when its content changes.
file(GLOB_RECURSE sources RELATIVE ${SOURCE} ${SOURCE}/kernels/*.c ${SOURCE}/kernels/*.h)
list(SORT sources)
set(hashes "${FLAGS}\n")
foreach(source IN LISTS sources)
  file(SHA256 ${SOURCE}/${source} hash)
  string(APPEND hashes "${source} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
set(text "/* made by dispatch/kernel_hash.cmake */\n#include \"dispatch/built.h\"\n\n")
string(APPEND text "const char sattn_built_kernel_hash[] = \"${hash}\";\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT "${text}" STREQUAL "${old}")
  file(WRITE ${OUTPUT} "${text}")
endif()
