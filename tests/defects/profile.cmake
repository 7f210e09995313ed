# SPDX-License-Identifier: MIT
# Defects of profiles: which text is taken for one, which file is read, and how one is written.

# ---- where it was made
sattn_dispatch_defect(cpu_model_without_extension FILE dispatch/profile_identity.c COMMAND test_profile
  FROM [[model |= eax >> 12 & 0xf0;]] TO [[model |= 0;]])
sattn_dispatch_defect(unknown_is_the_same_as_unknown FILE dispatch/profile_identity.c COMMAND test_profile
  FROM [[text[0] == '\0' || strcmp(text, "unknown") == 0)]] TO [[false)]])
sattn_dispatch_defect(last_field_not_compared FILE dispatch/profile_identity.c COMMAND test_profile
  FROM [[    for (int field = 0; field < SATTN_IDENTITY_COUNT; ++field) {]]
  TO [[    for (int field = 0; field < SATTN_IDENTITY_COUNT - 1; ++field) {]])
sattn_dispatch_defect(features_in_any_order FILE dispatch/profile_identity.c COMMAND test_profile
  FROM [[return strcmp(text, again) == 0;]] TO [[return again[0] != '\0' || text[0] == '\0';]])

# ---- the text
sattn_dispatch_defect(duplicate_keys_allowed FILE dispatch/profile_read.c COMMAND test_profile
  FROM [[JSON_REJECT_DUPLICATES]] TO [[0]])
sattn_dispatch_defect(levels_not_counted FILE dispatch/profile_read.c COMMAND test_profile
  FROM [[if (level > MOST_LEVELS)]] TO [[if (level < -1)]])
sattn_dispatch_defect(escaped_quote_ends_a_text FILE dispatch/profile_read.c COMMAND test_profile
  FROM [[i += c == '\\';]] TO [[i += 0;]])
sattn_dispatch_defect(bytes_not_counted FILE dispatch/profile_read.c COMMAND test_profile
  FROM [[if (size > SATTN_PROFILE_MOST_BYTES)]] TO [[if (size > SATTN_PROFILE_MOST_BYTES + 1)]])
sattn_dispatch_defect(values_not_counted FILE dispatch/profile_read.c COMMAND test_profile
  FROM [[c == '{' || c == ',');]] TO [[c == '{');]])
sattn_dispatch_defect(values_counted_in_texts FILE dispatch/profile_read.c COMMAND test_profile
  FROM [[n_values += !is_in_text && (]] TO [[n_values += (]])
sattn_dispatch_defect(newer_fields_refused FILE dispatch/profile_read.c COMMAND test_profile
  FROM [[json_integer_value(json_object_get(document, "schema_minor")) >]] TO [[0 >]])
sattn_dispatch_defect(class_twice FILE dispatch/profile_read.c COMMAND test_profile
  FROM [[if (are_different(*profile, root->remark))]] TO [[if (root->remark)]])
sattn_dispatch_defect(field_by_its_first_letters FILE dispatch/profile_fields.c COMMAND test_profile
  FROM [[strcmp(key, names[i]) == 0;]] TO [[strncmp(key, names[i], strlen(key)) == 0;]])
sattn_dispatch_defect(upper_limit_ignored FILE dispatch/profile_fields.c COMMAND test_profile
  FROM [[*value >= least && *value <= most)]] TO [[*value >= least)]])

sattn_dispatch_defect(escapes_in_a_remark FILE dispatch/error.c COMMAND test_profile
  FROM [[(unsigned char)*text < 0x20 ||]] TO [[*text == '\n' ||]])

# ---- an entry
sattn_dispatch_defect(illegal_instruction_taken FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[sattn_recipe_needs(&tried->recipe) & ~entry->usable;]] TO [[0;]])
sattn_dispatch_defect(time_of_0 FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [["time_ns", DBL_TRUE_MIN, above_0]] TO [["time_ns", 0, above_0]])
sattn_dispatch_defect(samples_without_times FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[if (is_timed != (samples > 0))]] TO [[if (!is_timed && samples > 0)]])
sattn_dispatch_defect(taken_beyond_the_error FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[(!tried[entry->n_tried].is_admitted ||]] TO [[(]])
sattn_dispatch_defect(admitted_beyond_the_bound FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[if (tried->is_admitted && tried->error > tried->error_bound)]] TO [[if (false)]])
sattn_dispatch_defect(admitted_beyond_the_budget FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[!(tried->error <= max_error))]] TO [[false)]])
sattn_dispatch_defect(unknown_error_admitted FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[!(tried->error <= max_error))]] TO [[tried->error > max_error)]])
sattn_dispatch_defect(taken_in_a_tie FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[(entry->is_complete && entry->kept == SATTN_KEPT_FOR_NOTHING)]] TO [[entry->is_complete]])
sattn_dispatch_defect(taken_before_the_end FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[(entry->is_complete && entry->kept == SATTN_KEPT_FOR_NOTHING)]] TO [[entry->kept == SATTN_KEPT_FOR_NOTHING]])
sattn_dispatch_defect(taken_not_moved FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[entry->taken -= !is_known && i < taken;]] TO [[]])
sattn_dispatch_defect(unknown_default_passed_over FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[if (!is_known && (i == 0 || i == taken)) {]] TO [[if (!is_known && i == taken) {]])

sattn_dispatch_defect(one_candidate_too_many FILE dispatch/profile_entry.c COMMAND test_profile
  FROM [[if (json_array_size(candidates) > SATTN_TRIED_MAX)]] TO [[if (json_array_size(candidates) > SATTN_TRIED_MAX + 1)]])

# ---- the file; each in a process that finds it by its environment. A library that reads no profiles
# says so of these files, whatever they are.
if(SATTN_PROFILES)
  sattn_dispatch_defect(device_is_read FILE dispatch/profile_file.c COMMAND test_profile_own call "pipe or device"
    FROM [[if (S_ISREG(facts.st_mode)) {]] TO [[if (facts.st_mode) {]])
  sattn_dispatch_defect(strict_ignored FILE dispatch/profile_own.c COMMAND test_profile_own call "unusable profile"
    FROM [[if (problem[0] != '\0' && is_strict) {]] TO [[if (false) {]])
endif()
sattn_dispatch_defect(none_is_a_file FILE dispatch/profile_own.c COMMAND test_profile_own call "ok: "
  FROM [[if (named && strcmp(named, "none") == 0) {]] TO [[if (false) {]])
foreach(entry IN ITEMS device_is_read:/dev/null strict_ignored:/dev/null none_is_a_file:none)
  string(REGEX MATCH "^(.*):(.*)$" entry "${entry}")
  if(TEST defect.dispatch.${CMAKE_MATCH_1})
    set_property(TEST defect.dispatch.${CMAKE_MATCH_1} APPEND PROPERTY ENVIRONMENT SATTN_PROFILE=${CMAKE_MATCH_2}
                 SATTN_PROFILE_STRICT=1)
  endif()
endforeach()

# ---- writing
sattn_dispatch_defect(written_in_place FILE bench/tune/profile_write.c COMMAND test_profile_write
  FROM [[sattn_result_write_as(document, print_to_disk, path, error, error_size);]]
  TO [[print_to_disk != NULL && json_dump_file(document, path, 0) == 0;]])
sattn_dispatch_defect(entries_on_one_line FILE bench/tune/profile_write.c COMMAND test_profile_write
  FROM [[i > 0 ? ",\n" : "\n"]] TO [[i > 0 ? ", " : "\n"]])
sattn_dispatch_defect(not_measured_left_out FILE bench/tune/profile_write.c COMMAND test_profile_write
  FROM [[return isfinite(value) ? json_real(value) : json_null();]] TO [[return json_real(value);]])
sattn_dispatch_defect(directory_for_everyone FILE bench/tune/profile_write.c COMMAND test_profile_write
  FROM [[mkdir(part, 0700)]] TO [[mkdir(part, 0755)]])
