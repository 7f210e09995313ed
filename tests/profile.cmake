# SPDX-License-Identifier: MIT
# Profiles: which texts are some, the process's own, who writes them.

# A test that this build cannot run, and why.
function(sattn_skipped_test name reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:" LABELS library)
endfunction()

set(reason "")
set(profile_text "")
if(NOT SATTN_PROFILES)
  set(reason "this build reads no profiles (SATTN_PROFILES=OFF)")
elseif(NOT SATTN_CMOCKA_LIBRARY)
  set(reason "no cmocka for ${CMAKE_SYSTEM_PROCESSOR}")
endif()
if(SATTN_PROFILES)
  set(profile_text support/profile_text.c)
endif()

# ---- from text
if(reason)
  sattn_skipped_test(profile "${reason}")
else()
  sattn_test_program(test_profile test_profile.c ${profile_text})
  target_link_libraries(test_profile PRIVATE ${SATTN_CMOCKA_LIBRARY})
  sattn_test(profile COMMAND test_profile ONE_CPU LABELS library)
endif()

# ---- the process's own; and the first call, by 16 threads at once, reads it
sattn_test_program(test_profile_own test_profile_own.c ${profile_text})
if(CMAKE_CROSSCOMPILING OR SATTN_TEST_LAUNCHER)
  sattn_skipped_test(profile.own "what an emulator shows of a CPU is not enough to know it again")
else()
  add_test(NAME profile.own COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:test_profile_own>
           -DPROFILES=$<BOOL:${SATTN_PROFILES}> -DWORK=${CMAKE_CURRENT_BINARY_DIR}/profile_own
           -P ${CMAKE_CURRENT_SOURCE_DIR}/profile_own.cmake)
  set_tests_properties(profile.own PROPERTIES LABELS library TIMEOUT ${test_timeout} ENVIRONMENT "${test_environment}"
                       SKIP_REGULAR_EXPRESSION "skipped:")
  if(SATTN_PROFILES)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/first_call.json)
    sattn_test(profile.make COMMAND test_profile_own make ${file} entries/0/class
               "\"attention decode rows<=1 keys<=2 d<=2 d_v<=2 group=1 unmasked dense threads=1\"" LABELS library)
    set_tests_properties(profile.make PROPERTIES FIXTURES_SETUP profile)
    sattn_test(first_call.profile COMMAND test_threads
               sattn_qk_f32_scalar,sattn_softmax_f32_scalar,sattn_av_f32_scalar LABELS library)
    set_tests_properties(first_call.profile PROPERTIES FIXTURES_REQUIRED profile)
    set_property(TEST first_call.profile APPEND PROPERTY ENVIRONMENT SATTN_PROFILE=${file}
                 SATTN_PROFILE_STRICT=1)
  endif()
endif()

# ---- those that lie in results/
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/results/profiles/*.json)
foreach(example IN LISTS examples)
  get_filename_component(name ${example} NAME_WE)
  sattn_test(profile.example.${name} COMMAND test_profile_own read ${example} ONE_CPU LABELS library)
endforeach()

# ---- to text, and to a file
if(NOT reason AND NOT SATTN_BENCH)
  set(reason "the writer is part of the program (SATTN_BENCH=OFF)")
endif()
if(reason)
  sattn_skipped_test(profile.write "${reason}")
else()
  sattn_test_program(test_profile_write test_profile_write.c)
  target_link_libraries(test_profile_write PRIVATE sattn_measure ${SATTN_CMOCKA_LIBRARY} m)
  sattn_test(profile.write COMMAND test_profile_write LABELS library)
endif()
