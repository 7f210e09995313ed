# SPDX-License-Identifier: MIT
# Runs a test program that holds a seeded defect. It is caught where the program says so (exit code
# 1), or is stopped by a guard page.
#
#   cmake "-DCOMMAND=emulator|program|argument|..." -P defect.cmake
cmake_minimum_required(VERSION 3.20)
string(REGEX REPLACE "^\\|" "" command "${COMMAND}")
string(REPLACE "|" ";" command "${command}")
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
string(REGEX MATCH "[^\n]*(fail|FAIL)[^\n]*" first "${out}${err}")
if(code STREQUAL "1" AND first)
  message(STATUS "caught: ${first}")
elseif(code STREQUAL "77")
  message(STATUS "skipped: this machine cannot run the kernel")
elseif(code MATCHES "[Ss]egmentation|SIGSEGV|Bus|^139$")
  message(STATUS "caught: a guard page was touched (${code})")
else()
  message(FATAL_ERROR "not caught, exit code ${code}:\n${out}\n${err}")
endif()
