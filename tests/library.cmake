# SPDX-License-Identifier: MIT
# Tests of all but the kernels: dispatch, public functions, first call, environment, the program,
# what verifies and measures, and what the compiler made of it.

find_library(SATTN_CMOCKA_LIBRARY NAMES cmocka)
set(cmocka_tests dispatch dispatch_tables selection selection_calls selection_explain direct shares api types steps chain npy verify verify_attention verify_sample verify_steps verify_additive verify_layers verify_whole_layers verify_float oracle inputs visibility fetch)
if(SATTN_BENCH)
  list(APPEND cmocka_tests autovec check crew environment_facts explain explain_options goals goals_marks issue limits measure options pin result shapes statistics
       stop tune tune_race tune_run tune_store workload)
endif()
if(SATTN_CMOCKA_LIBRARY)
  foreach(name IN LISTS cmocka_tests)
    sattn_test_program(test_${name} test_${name}.c)
    target_link_libraries(test_${name} PRIVATE ${SATTN_CMOCKA_LIBRARY} m)
    if(SATTN_BENCH)
      target_link_libraries(test_${name} PRIVATE sattn_bench)
    endif()
    if(name STREQUAL "fetch")
      target_link_libraries(test_${name} PRIVATE sattn_test_support)
    endif()
    set(cpus ONE_CPU)
    if(name MATCHES "^(dispatch|selection)") # what is chosen depends on the CPU
      set(cpus "")
    endif()
    sattn_test(${name} COMMAND test_${name} ${cpus} LABELS library)
  endforeach()
  if(NOT CMAKE_CROSSCOMPILING) # SATTN_LOG tells of the profile
    sattn_test(selection.log COMMAND test_selection_calls LABELS library)
    set_property(TEST selection.log APPEND PROPERTY ENVIRONMENT SATTN_LOG=1)
    set_tests_properties(selection.log PROPERTIES
      PASS_REGULAR_EXPRESSION "qk, prefill: the profile's choice \\(of-a-test.json\\)\n[^\n]*sattn_qk_")
  endif()
elseif(CMAKE_CROSSCOMPILING)
  foreach(name IN LISTS cmocka_tests)
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: no cmocka for ${CMAKE_SYSTEM_PROCESSOR}")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:" LABELS library)
  endforeach()
else()
  message(FATAL_ERROR "cmocka was not found, tests need it. Debian: apt-get install libcmocka-dev; "
                      "Fedora: dnf install libcmocka-devel; Homebrew: brew install cmocka. "
                      "Or configure with -DSATTN_TESTS=OFF.")
endif()

sattn_test_program(test_constructor test_first_call.c)
target_compile_definitions(test_constructor PRIVATE SATTN_TEST_THREADS=0)
sattn_test(first_call.constructor COMMAND test_constructor LABELS library)
sattn_test_program(test_threads test_first_call.c)
target_compile_definitions(test_threads PRIVATE SATTN_TEST_THREADS=1)
sattn_test(first_call.threads COMMAND test_threads LABELS library)

# ---- every kernel on a thread with a small stack
sattn_test_program(test_stack test_stack.c)
set(is_instrumented 0)
if(SATTN_SANITIZE)
  set(is_instrumented 1)
endif()
target_compile_definitions(test_stack PRIVATE SATTN_TEST_INSTRUMENTED=${is_instrumented})
sattn_test(stack COMMAND test_stack ONE_CPU LABELS library)

# ---- real activations, every registry row
sattn_test_program(test_real test_real.c)
target_link_libraries(test_real PRIVATE sattn_test_support)
sattn_registry_rows(fused rows)
foreach(row IN LISTS rows)
  sattn_test(real.${row} COMMAND test_real --kernel=${row} SEED ONE_CPU LABELS kernels)
endforeach()

# ---- SATTN_* variables: each in a process of its own
sattn_test_program(test_environment test_environment.c)
function(sattn_environment_test name environment)
  sattn_test(environment.${name} COMMAND test_environment ${ARGN} LABELS library)
  set_property(TEST environment.${name} APPEND PROPERTY ENVIRONMENT "${environment}")
endfunction()
if(NOT CMAKE_CROSSCOMPILING)
  sattn_environment_test(none "" ok any)
  sattn_environment_test(empty "SATTN_ISA=;SATTN_KERNEL=;SATTN_LOG=" ok any)
  sattn_environment_test(scalar "SATTN_ISA=scalar" ok sattn_fused_f32_scalar)
  sattn_environment_test(by_name "SATTN_KERNEL=sattn_fused_f32_scalar" ok sattn_fused_f32_scalar)
  sattn_environment_test(other_ops "SATTN_KERNEL=sattn_qk_f32_scalar,sattn_exp_f32_scalar" ok any)
  sattn_environment_test(chain_by_names "SATTN_KERNEL=sattn_av_f32_scalar,sattn_qk_f32_scalar" chain
                         sattn_qk_f32_scalar sattn_softmax_ sattn_av_f32_scalar)
  sattn_environment_test(chain_isa "SATTN_ISA=scalar" chain sattn_qk_f32_scalar sattn_softmax_f32_scalar
                         sattn_av_f32_scalar)
  sattn_environment_test(two_of_an_op "SATTN_KERNEL=sattn_qk_f32_scalar,sattn_qk_f32_scalar" error
                         SATTN_KERNEL "two kernels for op qk")
  sattn_environment_test(unknown_isa "SATTN_ISA=avx51" error SATTN_ISA avx51 "usable here: scalar")
  sattn_environment_test(upper_case "SATTN_ISA=AVX2" error SATTN_ISA AVX2 "usable here: scalar")
  sattn_environment_test(unknown_kernel "SATTN_KERNEL=sattn_fused_f32_mmx" error SATTN_KERNEL
                         sattn_fused_f32_mmx sattn_fused_f32_scalar)
  sattn_environment_test(log_value "SATTN_LOG=yes" error SATTN_LOG yes "0 or 1")
  if(SATTN_BUILD_AVX2)
    sattn_environment_test(kernel_over_cap "SATTN_ISA=scalar;SATTN_KERNEL=sattn_fused_f32_avx2" error
                           sattn_fused_f32_avx2 "under the cap scalar")
  endif()
endif()

# ---- the same decisions on emulated x86 CPUs: no AVX; AVX without AVX2; AVX2; AVX2 without FMA;
# all bits set but nothing saved by the system
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND NOT SATTN_SANITIZE AND TARGET test_dispatch)
  find_program(QEMU_X86_64 NAMES qemu-x86_64 qemu-x86_64-static)
  if(QEMU_X86_64)
    foreach(cpu IN ITEMS Nehalem SandyBridge max "max,-fma" "max,-xsave")
      add_test(NAME dispatch.qemu.${cpu} COMMAND ${QEMU_X86_64} -cpu ${cpu} $<TARGET_FILE:test_dispatch>)
      set_tests_properties(dispatch.qemu.${cpu} PROPERTIES LABELS library TIMEOUT ${test_timeout})
    endforeach()
  endif()
endif()

# ---- what the compiler made of it
include(asm/scan.cmake)

# ---- what the configure step refuses; and sources that got past it with such flags do not compile
if(NOT CMAKE_CROSSCOMPILING AND NOT SATTN_SANITIZE)
  add_test(NAME configure COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
           -DWORK=${CMAKE_CURRENT_BINARY_DIR}/configure -DGENERATOR=${CMAKE_GENERATOR}
           -DC_COMPILER=${CMAKE_C_COMPILER} -P ${CMAKE_CURRENT_SOURCE_DIR}/configure.cmake)
  foreach(source IN ITEMS kernels/fused/fused_f32_scalar.c kernels/ref/ref_f64.c bench/verify/compare.c)
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME configure.fast_math.${name} COMMAND ${CMAKE_C_COMPILER} -std=c11 -ffast-math
             -fsyntax-only -I ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${source})
    set_tests_properties(configure.fast_math.${name} PROPERTIES LABELS library
                         PASS_REGULAR_EXPRESSION "IEEE arithmetic")
  endforeach()
  set_tests_properties(configure PROPERTIES LABELS library TIMEOUT ${test_timeout})
endif()

# ---- what it probes, and what becomes of a failed probe
if(NOT CMAKE_CROSSCOMPILING AND NOT SATTN_SANITIZE)
  add_test(NAME configure.probes COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
           -DWORK=${CMAKE_CURRENT_BINARY_DIR}/probes -DGENERATOR=${CMAKE_GENERATOR} -DC_COMPILER=${CMAKE_C_COMPILER}
           -DAR=${CMAKE_AR} "-DISAS=$<JOIN:${SATTN_ISAS},|>" -DSLEEF_INCLUDE=${SATTN_SLEEF_INCLUDE_DIR}
           -P ${CMAKE_CURRENT_SOURCE_DIR}/probes.cmake)
  set_tests_properties(configure.probes PROPERTIES LABELS library TIMEOUT ${test_timeout})
endif()

# ---- CPU flags where they belong (Ninja and Makefiles write the list of commands)
if(CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
  add_test(NAME commands COMMAND ${CMAKE_COMMAND} -DCOMMANDS=${PROJECT_BINARY_DIR}/compile_commands.json
           -P ${CMAKE_CURRENT_SOURCE_DIR}/commands.cmake)
  set_tests_properties(commands PROPERTIES LABELS library TIMEOUT ${test_timeout})
endif()

# ---- the page that explains the interface
set(public_headers ${PROJECT_SOURCE_DIR}/dispatch/simdattn.h ${PROJECT_SOURCE_DIR}/dispatch/simdattn_layers.h)
add_test(NAME api_docs COMMAND ${CMAKE_COMMAND} "-DHEADERS=$<JOIN:${public_headers},|>"
         -DPAGE=${PROJECT_SOURCE_DIR}/docs/api.md -P ${CMAKE_CURRENT_SOURCE_DIR}/api_docs.cmake)
set_tests_properties(api_docs PROPERTIES LABELS library TIMEOUT ${test_timeout})

# ---- without optimisation
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND SATTN_SLEEF AND NOT CMAKE_CROSSCOMPILING AND NOT SATTN_SANITIZE AND
   NOT SATTN_TEST_LAUNCHER AND NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  set(names "")
  foreach(op IN ITEMS fused qk softmax av)
    sattn_registry_rows(${op} rows)
    list(APPEND names ${rows})
  endforeach()
  add_test(NAME unoptimized COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
           -DWORK=${CMAKE_CURRENT_BINARY_DIR}/unoptimized -DGENERATOR=${CMAKE_GENERATOR}
           -DC_COMPILER=${CMAKE_C_COMPILER} "-DKERNELS=$<JOIN:${names},|>"
           -P ${CMAKE_CURRENT_SOURCE_DIR}/unoptimized.cmake)
  set_tests_properties(unoptimized PROPERTIES LABELS library TIMEOUT ${test_timeout})
endif()

# ---- the linked programs: on this CPU, on emulated ones, with denormals flushed
if(NOT CMAKE_CROSSCOMPILING AND NOT SATTN_SANITIZE AND NOT SATTN_TEST_LAUNCHER)
  set(flushing "")
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64|aarch64|arm64)$")
    add_library(preset_flushing MODULE support/preset_flushing.c)
    target_link_libraries(preset_flushing PRIVATE sattn_flags)
    set(flushing $<TARGET_FILE:preset_flushing>)
  endif()
  add_test(NAME processes COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<$<BOOL:${SATTN_BENCH}>:${PROJECT_BINARY_DIR}/bench/simdattn>"
           -DTESTS=$<TARGET_FILE_DIR:test_cases> "-DFLUSHING=${flushing}" "-DISAS=$<JOIN:${SATTN_ISAS},|>"
           "-DEMULATOR=$<$<BOOL:${QEMU_X86_64}>:${QEMU_X86_64}>" -P ${CMAKE_CURRENT_SOURCE_DIR}/processes.cmake)
  set_tests_properties(processes PROPERTIES LABELS library TIMEOUT ${test_timeout})
endif()

# ---- one file and one row make a variant, and its tests see what is wrong with it
if(SATTN_BENCH AND NOT CMAKE_CROSSCOMPILING AND SATTN_DEFECTS AND NOT SATTN_SANITIZE AND CMAKE_CXX_COMPILER)
  add_test(NAME variant COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
           -DWORK=${CMAKE_CURRENT_BINARY_DIR}/variant -DGENERATOR=${CMAKE_GENERATOR}
           -DC_COMPILER=${CMAKE_C_COMPILER} -DCXX_COMPILER=${CMAKE_CXX_COMPILER}
           -P ${CMAKE_CURRENT_SOURCE_DIR}/variant.cmake)
  set_tests_properties(variant PROPERTIES LABELS library TIMEOUT ${test_timeout})
endif()

# ---- the program
if(SATTN_BENCH AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME program COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:simdattn>
           -DWORK=${CMAKE_CURRENT_BINARY_DIR} -DDATASET=${PROJECT_SOURCE_DIR}/tests/data/minilm
           -P ${CMAKE_CURRENT_SOURCE_DIR}/program.cmake)
  set_tests_properties(program PROPERTIES LABELS library TIMEOUT ${test_timeout})
endif()

# ---- what the program says of a profile, beside `explain`
if(SATTN_BENCH AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME profile.program COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:simdattn>
           -DMAKER=$<TARGET_FILE:test_profile_own> -DWORK=${CMAKE_CURRENT_BINARY_DIR}/profile_program
           -P ${CMAKE_CURRENT_SOURCE_DIR}/profile_program.cmake)
  set_tests_properties(profile.program PROPERTIES LABELS library TIMEOUT ${test_timeout} SKIP_REGULAR_EXPRESSION "skipped:")
endif()

# ---- why a call runs what it runs
if(SATTN_BENCH AND NOT CMAKE_CROSSCOMPILING)
  file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/results/profiles/*.json)
  add_test(NAME explain.program COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:simdattn>
           -DMAKER=$<TARGET_FILE:test_profile_own> -DWORK=${CMAKE_CURRENT_BINARY_DIR}/explain
           "-DEXAMPLES=$<JOIN:${examples},|>"
           -P ${CMAKE_CURRENT_SOURCE_DIR}/explain.cmake)
  set_tests_properties(explain.program PROPERTIES LABELS library TIMEOUT ${test_timeout})
endif()

# ---- and all of its verbs with two threads
if(SATTN_BENCH AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME two_threads.program COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:simdattn>
           -DWORK=${CMAKE_CURRENT_BINARY_DIR}/two_threads -P ${CMAKE_CURRENT_SOURCE_DIR}/two_threads.cmake)
  set_tests_properties(two_threads.program PROPERTIES LABELS library TIMEOUT ${test_timeout} SKIP_REGULAR_EXPRESSION "skipped:")
endif()

# ---- accuracy: the verb by itself, and against the stored baselines of this architecture. Autovec rows
# are left out there: in which order they sum is up to the compiler.
if(SATTN_BENCH AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME tune.program COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:simdattn>
           -DWORK=${CMAKE_CURRENT_BINARY_DIR}/tune -P ${CMAKE_CURRENT_SOURCE_DIR}/tune.cmake)
  set_tests_properties(tune.program PROPERTIES LABELS library TIMEOUT ${test_timeout})
  add_test(NAME check.program COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:simdattn>
           -DWORK=${CMAKE_CURRENT_BINARY_DIR}/check -P ${CMAKE_CURRENT_SOURCE_DIR}/check.cmake)
  set_tests_properties(check.program PROPERTIES LABELS library TIMEOUT ${test_timeout})

  set(names "")
  foreach(op IN ITEMS fused qk softmax av exp tanh)
    sattn_registry_rows(${op} rows)
    list(APPEND names ${rows})
  endforeach()
  list(FILTER names EXCLUDE REGEX "_autovec$")
  foreach(isa IN LISTS SATTN_ISAS)
    list(APPEND names chain_${isa})
  endforeach()
  list(JOIN names "," names)
  set(baseline_arch ${CMAKE_SYSTEM_PROCESSOR})
  if(baseline_arch MATCHES "^(AMD64|amd64)$")
    set(baseline_arch x86_64)
  elseif(baseline_arch MATCHES "^(arm64|ARM64)$")
    set(baseline_arch aarch64)
  endif()
  set(less "")
  if(SATTN_SANITIZE)
    set(less --data normal,attention,masked,unit,special)
  endif()
  file(GLOB baselines CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/results/accuracy/*.json)
  foreach(baseline IN LISTS baselines)
    get_filename_component(name ${baseline} NAME_WE)
    file(READ ${baseline} text)
    string(JSON arch ERROR_VARIABLE error GET "${text}" environment arch)
    if(NOT arch STREQUAL baseline_arch) # plain C has fused multiply-add on some, and errs less
      continue()
    endif()
    add_test(NAME check.baseline.${name}
             COMMAND simdattn check --kernel ${names} ${less} --baseline ${baseline})
    set_tests_properties(check.baseline.${name} PROPERTIES LABELS library TIMEOUT ${test_timeout})
  endforeach()
endif()

# ---- the installed library, used from outside
if(NOT CMAKE_CROSSCOMPILING AND NOT SATTN_SANITIZE AND CMAKE_NM)
  find_program(SATTN_PKG_CONFIG NAMES pkg-config)
  add_test(NAME install COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR}
           -DWORK=${CMAKE_CURRENT_BINARY_DIR}/install -DGENERATOR=${CMAKE_GENERATOR}
           -DC_COMPILER=${CMAKE_C_COMPILER} -DNM=${CMAKE_NM} -DPKG_CONFIG=$<$<BOOL:${SATTN_PKG_CONFIG}>:${SATTN_PKG_CONFIG}>
           -DLIBDIR=${CMAKE_INSTALL_LIBDIR} "-DHEADERS=$<JOIN:${public_headers},|>"
           "-DPAGES=${PROJECT_SOURCE_DIR}/README.md|${PROJECT_SOURCE_DIR}/docs/api.md"
           -P ${CMAKE_CURRENT_SOURCE_DIR}/install.cmake)
  set_tests_properties(install PROPERTIES LABELS library TIMEOUT ${test_timeout})
endif()
