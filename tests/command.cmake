# SPDX-License-Identifier: MIT
# run(command...): stops the script where the command fails, showing what it said; otherwise leaves
# its standard output, without blank ends, in `output`.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "'${command}' ended with ${code}:\n${out}\n${err}")
  endif()
  string(STRIP "${out}" out)
  set(output "${out}" PARENT_SCOPE)
endfunction()
