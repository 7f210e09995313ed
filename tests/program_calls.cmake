# SPDX-License-Identifier: MIT
# What scripts that call the program share. Before they include this they set what is not as below:
#   unset       variables that a call must not see, beside those that choose kernels
#   home        name=value... that every call sees; `environment` holds those of the next calls
#   directory   where calls run
#   before      arguments in front of all
#   flat        line breaks and what is around them count as one space
#   one_stream  a call that succeeds writes nothing to standard error, another nothing to standard output
foreach(variable IN ITEMS unset home directory before)
  if(NOT DEFINED ${variable})
    set(${variable} "")
  endif()
endforeach()
set(environment "")
if(NOT directory)
  set(directory .)
endif()
list(TRANSFORM unset PREPEND --unset=)

# Calls the program; leaves `code`, `out` and `err`.
macro(call_program)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=SATTN_ISA --unset=SATTN_KERNEL --unset=SATTN_LOG ${unset}
                          ${home} ${environment} ${PROGRAM} ${before} ${ARGN}
                  WORKING_DIRECTORY ${directory} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
endmacro()

# Whether a call that printed `all` did otherwise than `expect_` says: sets `wrong` to the reason, or to "".
macro(judge_call)
  set(wrong "")
  set(text_of_both "${all}")
  if(flat)
    string(REGEX REPLACE "[ \n]+" " " text_of_both "${all}")
  endif()
  if(NOT code EQUAL expect_CODE)
    set(wrong "exit code ${code} instead of ${expect_CODE}")
  elseif(one_stream AND ((code EQUAL 0 AND NOT err STREQUAL "") OR (NOT code EQUAL 0 AND NOT out STREQUAL "")))
    set(wrong "something on both streams")
  endif()
  foreach(text IN LISTS expect_MATCHES)
    string(FIND "${text_of_both}" "${text}" at)
    if(at EQUAL -1)
      string(APPEND wrong "\nno \"${text}\"")
    endif()
  endforeach()
  foreach(text IN LISTS expect_LACKS)
    string(FIND "${text_of_both}" "${text}" at)
    if(NOT at EQUAL -1)
      string(APPEND wrong "\nunexpected \"${text}\"")
    endif()
  endforeach()
endmacro()

# run(CODE n [MATCHES text...] [LACKS text...] [BUDGETS seconds...] ARGS arguments...): the command ends with code n,
# prints each text of the one list and none of the other. With BUDGETS it gets --budget as well, one after the other
# until it does so: on a busy machine it needs more time for the same. Leaves what it printed in `output` and, of both
# streams, `output_and_errors`.
function(run)
  cmake_parse_arguments(expect "" "CODE" "MATCHES;LACKS;BUDGETS;ARGS" ${ARGN})
  if(expect_BUDGETS)
    foreach(seconds IN LISTS expect_BUDGETS)
      call_program(${expect_ARGS} --budget ${seconds})
      set(all "${out}\n${err}")
      judge_call()
      if(wrong STREQUAL "")
        break()
      endif()
    endforeach()
  else()
    call_program(${expect_ARGS})
    set(all "${out}\n${err}")
    judge_call()
  endif()
  set(output "${out}" PARENT_SCOPE)
  set(output_and_errors "${all}" PARENT_SCOPE)
  if(NOT wrong STREQUAL "")
    list(JOIN expect_ARGS " " shown)
    list(JOIN before " " first)
    string(STRIP "simdattn ${first}" program)
    message(SEND_ERROR "${program} ${shown}: ${wrong} in\n${all}")
  endif()
endfunction()

# The value at a path of `output`, which must be one JSON document.
function(json variable)
  string(JSON value ERROR_VARIABLE error GET "${output}" ${ARGN})
  if(error)
    message(SEND_ERROR "${ARGN}: ${error} in\n${output}")
  endif()
  set(${variable} "${value}" PARENT_SCOPE)
endfunction()

# expect_json(value path...): that is what stands there.
function(expect_json expected)
  json(value ${ARGN})
  if(NOT value STREQUAL expected)
    message(SEND_ERROR "${ARGN} is '${value}' instead of '${expected}' in\n${output}")
  endif()
endfunction()

# expect_width(most [regex]): no line of `output`, or none that matches, is longer than so many columns.
function(expect_width most)
  string(REGEX MATCHALL "[^\n]+" lines "${output}")
  foreach(line IN LISTS lines)
    string(LENGTH "${line}" width)
    if(width GREATER most AND line MATCHES "${ARGN}")
      message(SEND_ERROR "a line of ${width} columns: ${line}")
    endif()
  endforeach()
endfunction()

# Behind `explain` of a call that nothing was measured of: the command that it names measures the very class of the
# call.
function(expect_own_command)
  string(REGEX REPLACE "[ \n]+" " " flat "${output}")
  if(NOT flat MATCHES "`./run (tune[^`]*)` would")
    message(SEND_ERROR "no command that measures it in\n${output}")
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_1}")
  string(REGEX MATCH "class ([^`]*threads=[0-9]+) measured" found "${flat}")
  set(class "${CMAKE_MATCH_1}")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=SATTN_ISA --unset=SATTN_KERNEL ${PROGRAM} ${words} --list
                  OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
  string(FIND "${out}" "${class}" at)
  if(NOT code EQUAL 0 OR at EQUAL -1 OR class STREQUAL "")
    message(SEND_ERROR "${words} does not measure '${class}':\n${out}\n${err}")
  endif()
endfunction()

# For sh -c: SIGNAL FILE COMMAND...: sends the command a signal once it has written the file.
set(interrupt [[
signal=$1 file=$2
shift 2
"$@" &
for tenth in $(seq 1200); do
  [ -e "$file" ] && break
  sleep 0.1
done
kill -s "$signal" $!
wait $!
]])
