# SPDX-License-Identifier: MIT
#
# commit.cmake: writes the header OUTPUT with the commit of the git tree SOURCE, whether the tree
# differs from it, and a hash of all kernel sources with their names. Run with -P at build time; the
# file is touched only when its content changes.
set(commit "unknown")
set(dirty -1)
find_program(git NAMES git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse HEAD
                  OUTPUT_VARIABLE head RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(commit "${head}")
    execute_process(COMMAND ${git} -C ${SOURCE} --no-optional-locks status --porcelain
                    OUTPUT_VARIABLE changes RESULT_VARIABLE failed ERROR_QUIET)
    if(NOT failed)
      string(COMPARE NOTEQUAL "${changes}" "" dirty)
    endif()
  endif()
endif()
file(GLOB_RECURSE sources RELATIVE ${SOURCE} ${SOURCE}/kernels/*.c ${SOURCE}/kernels/*.h)
list(SORT sources)
set(hashes "")
foreach(source IN LISTS sources)
  file(SHA256 ${SOURCE}/${source} hash)
  string(APPEND hashes "${source} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
set(text "#define SATTN_GIT_COMMIT \"${commit}\"\n#define SATTN_GIT_DIRTY  (${dirty})\n")
string(APPEND text "#define SATTN_KERNEL_HASH \"${hash}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT "${text}" STREQUAL "${old}")
  file(WRITE ${OUTPUT} "${text}")
endif()
