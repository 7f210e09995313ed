# SPDX-License-Identifier: MIT
# Reads the compiled code of object files and fails where an instruction is found that must not be
# there, or none of a kind that must.
#
#   cmake -DOBJDUMP=... -DNM=... -DARCH=x86_64|aarch64 -DRULE=baseline|avx2|scalar|unfused|autovec|symbols|exports
#         -DOBJECTS=a.o|b.o -P scan.cmake

cmake_minimum_required(VERSION 3.20)
string(REPLACE "|" ";" objects "${OBJECTS}")
set(packed_x86 "v?(add|sub|mul|div|fn?madd[0-9]+|fn?msub[0-9]+)p[sd][ \t]")
set(packed_aarch64 "(fadd|fsub|fmul|fmla|fmls|fdiv)[ \t]+v[0-9]+\\.[248][sd]")
if(ARCH STREQUAL "x86_64")
  set(packed "${packed_x86}")
else()
  set(packed "${packed_aarch64}")
endif()

# Fails where the code holds `pattern`; shows the first places.
function(refuse object code pattern what)
  string(REGEX MATCHALL "[^\n]*(${pattern})[^\n]*" lines "${code}")
  if(lines)
    list(LENGTH lines count)
    list(SUBLIST lines 0 3 first)
    list(JOIN first "\n" first)
    message(SEND_ERROR "${object}: ${count} instructions ${what}, such as\n${first}")
  endif()
endfunction()

set(scanned 0)
foreach(object IN LISTS objects)
  get_filename_component(name ${object} NAME)
  if(RULE MATCHES "^(symbols|exports)$") # of a kernel, named like its file; of any other code for one ISA
    execute_process(COMMAND ${NM} --defined-only --extern-only ${object}
                    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
    list(LENGTH symbols count)
    set(kernel "sattn_[a-z0-9_]+")
    if(RULE STREQUAL "symbols")
      string(REGEX REPLACE "\\.c\\.o(bj)?$" "" kernel "sattn_${name}")
    endif()
    if(NOT count EQUAL 1 OR NOT symbols MATCHES " T ${kernel}$")
      message(SEND_ERROR "${name}: expected the one exported function ${kernel}, found: ${symbols}")
    endif()
    math(EXPR scanned "${scanned} + 1")
    continue()
  endif()
  if((RULE STREQUAL "autovec" AND NOT name MATCHES "_autovec") OR
     (RULE STREQUAL "scalar" AND NOT name MATCHES "_f32_scalar"))
    continue()
  endif()
  execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${object}
                  OUTPUT_VARIABLE code COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" " " code "${code}")
  string(REPLACE "[" "(" code "${code}") # brackets would escape the semicolons of a CMake list
  string(REPLACE "]" ")" code "${code}")
  math(EXPR scanned "${scanned} + 1")
  if(RULE STREQUAL "baseline")
    refuse(${name} "${code}" "%[yz]mm|\tv[a-z]|\t(shlx|shrx|sarx|rorx|andn|mulx|pdep|pext)[ \t]" "beyond the baseline")
  elseif(RULE STREQUAL "avx2")
    refuse(${name} "${code}" "%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])" "with EVEX encoding")
  elseif(RULE STREQUAL "scalar")
    refuse(${name} "${code}" "\t${packed}" "of packed arithmetic")
  elseif(RULE STREQUAL "unfused")
    refuse(${name} "${code}" "\t(vfn?m(add|sub)|fn?m(add|sub)|fml[as])[a-z0-9]*[ \t]" "of fused arithmetic that nobody wrote")
  elseif(RULE STREQUAL "autovec")
    foreach(kind IN ITEMS add mul)
      if(NOT code MATCHES "\t(v?${kind}|vfn?madd[0-9]+)ps[ \t]|\t(f${kind}|fmla)[ \t]+v[0-9]+\\.4s")
        message(SEND_ERROR "${name}: no packed ${kind}; the compiler did not vectorize it")
      endif()
    endforeach()
  else()
    message(FATAL_ERROR "scan.cmake: no such rule: ${RULE}")
  endif()
endforeach()
if(scanned EQUAL 0)
  message(FATAL_ERROR "scan.cmake: rule ${RULE} found no object to scan")
endif()
message(STATUS "${RULE}: ${scanned} objects scanned")
