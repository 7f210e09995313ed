# SPDX-License-Identifier: MIT
# Installs a build to a prefix of its own and uses it from outside, as a project that knows nothing
# of the tree: by find_package and by pkg-config, static and shared. Whoever links the static library
# needs the libraries of SLEEF, jansson and OpenMP, and nobody their headers or packages. The shared library exports
# the public functions and nothing else.
#
#   cmake -DBUILD=... -DWORK=... -DGENERATOR=... -DC_COMPILER=... -DNM=... -DPKG_CONFIG=...
#         -DLIBDIR=lib -DHEADERS=.../simdattn.h|... -DREADME=.../README.md -P install.cmake
cmake_minimum_required(VERSION 3.20)

include(${CMAKE_CURRENT_LIST_DIR}/command.cmake)

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# The program is the example of README.md: its first block of C.
file(READ ${README} text)
string(FIND "${text}" "```c\n" start)
if(start EQUAL -1)
  message(FATAL_ERROR "${README}: no block of C found")
endif()
math(EXPR start "${start} + 5")
string(SUBSTRING "${text}" ${start} -1 text)
string(FIND "${text}" "```" end)
string(SUBSTRING "${text}" 0 ${end} text)
file(WRITE ${WORK}/outside/main.c "${text}")

file(WRITE ${WORK}/outside/CMakeLists.txt "
cmake_minimum_required(VERSION 3.20)
project(outside LANGUAGES C)
find_package(simdattn REQUIRED)
foreach(kind IN ITEMS static shared)
  add_executable(outside_\${kind} main.c)
  target_link_libraries(outside_\${kind} PRIVATE simdattn::\${kind})
endforeach()
")
run(${CMAKE_COMMAND} -S ${WORK}/outside -B ${WORK}/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(kind IN ITEMS static shared)
  run(${WORK}/build/outside_${kind})
  message(STATUS "find_package, ${kind}: runs")
endforeach()

if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  run(${PKG_CONFIG} --cflags --libs simdattn)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${C_COMPILER} ${WORK}/outside/main.c ${flags} -Wl,-rpath,${prefix}/${LIBDIR} -o ${WORK}/outside_pkg)
  run(${WORK}/outside_pkg)
  message(STATUS "pkg-config: runs")
  run(${PKG_CONFIG} --static --cflags --libs simdattn)
  string(REPLACE "-lsimdattn" "${prefix}/${LIBDIR}/libsimdattn.a" output "${output}")
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${C_COMPILER} ${WORK}/outside/main.c ${flags} -o ${WORK}/outside_pkg_static)
  run(${WORK}/outside_pkg_static)
  message(STATUS "pkg-config --static: runs")
endif()

# Nothing installed asks for a header or the package of SLEEF, jansson or OpenMP, nor knows where they were built against.
file(GLOB_RECURSE installed ${prefix}/*.h ${prefix}/*.cmake ${prefix}/*.pc)
foreach(file IN LISTS installed)
  file(STRINGS ${file} lines REGEX "sleef\\.h|jansson\\.h|sleef::sleef[^_a-z]|find_dependency\\((sleef|jansson|OpenMP)|OpenMP::|/lib/gcc/|/lib/llvm|Requires")
  list(FILTER lines EXCLUDE REGEX "simdattn::sleef")
  if(lines)
    message(SEND_ERROR "${file} asks for SLEEF, jansson or OpenMP: ${lines}")
  endif()
endforeach()

set(n_declared 0)
string(REPLACE "|" ";" HEADERS "${HEADERS}")
foreach(header IN LISTS HEADERS)
  file(STRINGS ${header} lines REGEX "^SATTN_API ")
  list(LENGTH lines count)
  math(EXPR n_declared "${n_declared} + ${count}")
endforeach()
run(${NM} -D --defined-only ${prefix}/${LIBDIR}/libsimdattn.so)
string(REGEX MATCHALL "[^\n]+" symbols "${output}")
foreach(symbol IN LISTS symbols)
  if(NOT symbol MATCHES " T sattn_")
    message(SEND_ERROR "exported beside the public functions: ${symbol}")
  endif()
endforeach()
list(LENGTH symbols n_exported)
if(NOT n_exported EQUAL n_declared)
  message(SEND_ERROR "${n_exported} symbols exported, ${n_declared} functions declared:\n${output}")
endif()
message(STATUS "${n_exported} functions exported")
file(REMOVE_RECURSE ${WORK})
