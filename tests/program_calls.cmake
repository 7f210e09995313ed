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

# run(CODE n [MATCHES text...] [LACKS text...] ARGS arguments...): the command ends with code n, prints each text of
# the one list and none of the other. Leaves what it printed in `output` and, of both streams, `output_and_errors`.
function(run)
  cmake_parse_arguments(expect "" "CODE" "MATCHES;LACKS;ARGS" ${ARGN})
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=SATTN_ISA --unset=SATTN_KERNEL --unset=SATTN_LOG ${unset}
                          ${home} ${environment} ${PROGRAM} ${before} ${expect_ARGS}
                  WORKING_DIRECTORY ${directory} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
  set(output "${out}" PARENT_SCOPE)
  set(all "${out}\n${err}")
  set(output_and_errors "${all}" PARENT_SCOPE)
  list(JOIN expect_ARGS " " shown)
  list(JOIN before " " first)
  string(STRIP "simdattn ${first}" program)
  if(NOT code EQUAL expect_CODE)
    message(SEND_ERROR "${program} ${shown}: exit code ${code} instead of ${expect_CODE}\n${all}")
  endif()
  if(one_stream AND ((code EQUAL 0 AND NOT err STREQUAL "") OR (NOT code EQUAL 0 AND NOT out STREQUAL "")))
    message(SEND_ERROR "${program} ${shown}: something on both streams\n${all}")
  endif()
  set(text_of_both "${all}")
  if(flat)
    string(REGEX REPLACE "[ \n]+" " " text_of_both "${all}")
  endif()
  foreach(text IN LISTS expect_MATCHES)
    string(FIND "${text_of_both}" "${text}" at)
    if(at EQUAL -1)
      message(SEND_ERROR "${program} ${shown}: no \"${text}\" in\n${all}")
    endif()
  endforeach()
  foreach(text IN LISTS expect_LACKS)
    string(FIND "${text_of_both}" "${text}" at)
    if(NOT at EQUAL -1)
      message(SEND_ERROR "${program} ${shown}: \"${text}\" in\n${all}")
    endif()
  endforeach()
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
