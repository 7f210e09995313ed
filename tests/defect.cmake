# SPDX-License-Identifier: MIT
# Runs a test program that holds a seeded defect. It is caught where the program says what failed, or
# is stopped by a guard page. With SEEDS it runs with one after the other until one catches it, as the
# suite of an emulated build runs a sample of the tests with each.
#
#   cmake "-DCOMMAND=emulator|program|argument|..." [-DSEEDS=1|2|3] -P defect.cmake
#   cmake -DOUTDATED=file -P defect.cmake      the text to replace is not in the file, or not once
cmake_minimum_required(VERSION 3.20)
if(OUTDATED)
  message(FATAL_ERROR "the text that this defect replaces must occur once in ${OUTDATED}; "
                      "tests/defects/ has to follow the change of that file")
endif()
string(REGEX REPLACE "^\\|" "" command "${COMMAND}")
string(REPLACE "|" ";" command "${command}")
string(REPLACE "|" ";" seeds "${SEEDS}")
if(NOT seeds)
  set(seeds none)
endif()
foreach(seed IN LISTS seeds)
  set(arguments "")
  if(NOT seed STREQUAL "none")
    set(arguments --seed=${seed})
  endif()
  execute_process(COMMAND ${command} ${arguments} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  string(REGEX REPLACE "[^\n]*listed below:\n" "" said "${err}${out}")
  string(REGEX MATCH "[^\n]*FAIL[^\n]*" first "${said}")
  if("${err}${out}" MATCHES "skipped although required")
    message(FATAL_ERROR "not run: ${first}")
  elseif(code STREQUAL "77")
    message(STATUS "skipped: this machine cannot run the kernel")
    return()
  elseif(code MATCHES "[Ss]egmentation|SIGSEGV|Bus|^139$|^135$")
    message(STATUS "caught: a guard page was touched (${code})")
    return()
  elseif(NOT code STREQUAL "0" AND first)
    message(STATUS "caught: ${first}")
    return()
  elseif(NOT code STREQUAL "0")
    break()
  endif()
endforeach()
message(FATAL_ERROR "not caught, exit code ${code}:\n${out}\n${err}")
