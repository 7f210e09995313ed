# SPDX-License-Identifier: MIT
# The compiler's command lines: CPU flags go to the kernels and reference loops of a level and to
# nobody else, always the same ones; nothing is built for the CPU that happens to build it; and no C
# file is compiled with arithmetic of another kind than the rest. So an object is the same on every
# host that shares a compiler cache, and what a file may use can be told from its name.
#
#   cmake -DCOMMANDS=.../compile_commands.json -P commands.cmake
cmake_minimum_required(VERSION 3.20)
file(STRINGS ${COMMANDS} lines REGEX "\"command\":")
set(n_files 0)
set(n_level_files 0)
foreach(line IN LISTS lines)
  string(REGEX REPLACE [[\\\\\\"[^"]*"]] "" line "${line}") # texts that are handed to the program
  string(REGEX MATCH " -c ([^ \"]+)" source "${line}")
  set(source ${CMAKE_MATCH_1})
  get_filename_component(name ${source} NAME)
  math(EXPR n_files "${n_files} + 1")
  if(line MATCHES "[ =](native|-Ofast|-ffast-math|-ffinite-math-only|-funsafe-math-optimizations)[ \"]")
    message(SEND_ERROR "${name}: ${CMAKE_MATCH_1} in\n${line}")
  endif()
  if(name MATCHES "\\.c$" AND NOT line MATCHES " -ffp-contract=off ")
    message(SEND_ERROR "${name}: no -ffp-contract=off in\n${line}")
  endif()
  string(REGEX MATCHALL " -m[^ \"]+" flags "${line}")
  if(source MATCHES "/(kernels|limits|tests)/.*_f32_(avx2|avx512)([a-z0-9_]*|\\.dir/cmake_pch\\.h)\\.c$")
    set(isa ${CMAKE_MATCH_2})
    math(EXPR n_level_files "${n_level_files} + 1")
    if(NOT DEFINED flags_of_${isa})
      set(flags_of_${isa} "${flags}")
    endif()
    if(NOT flags OR NOT flags STREQUAL flags_of_${isa})
      message(SEND_ERROR "${name}: flags '${flags}', other files of ${isa} have '${flags_of_${isa}}'")
    endif()
  elseif(flags)
    message(SEND_ERROR "${name}: '${flags}' in a file of the baseline")
  endif()
endforeach()
if(n_files EQUAL 0)
  message(FATAL_ERROR "commands.cmake: no command in ${COMMANDS}")
endif()
message(STATUS "${n_files} commands, ${n_level_files} of files above the baseline")
