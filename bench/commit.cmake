# SPDX-License-Identifier: MIT
#
# commit.cmake: writes the header OUTPUT with the commit of the git tree SOURCE, and whether the tree
# differs from it. Run with -P at build time; the file is touched only when its content changes.
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
set(text "#define SATTN_GIT_COMMIT \"${commit}\"\n#define SATTN_GIT_DIRTY  (${dirty})\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT "${text}" STREQUAL "${old}")
  file(WRITE ${OUTPUT} "${text}")
endif()
