# SPDX-License-Identifier: MIT
# Defects of what the benchmark does with signals, processes and rounds.

sattn_dispatch_defect(stop_second_signal_lost FILE bench/stop.c COMMAND test_stop
  FROM [[    signal_seen = number;
    for (int s = 0; s < N_SIGNALS; ++s)]]
  TO [[    signal_seen = number;
    for (int s = 0; s < 0; ++s)]])
sattn_dispatch_defect(stop_ignored_signal_taken FILE bench/stop.c COMMAND test_stop
  FROM [[if (previous[s].sa_handler != SIG_IGN)]] TO [[if (s < N_SIGNALS)]])
sattn_dispatch_defect(pin_copy_goes_nowhere FILE bench/environment/pin.c COMMAND test_pin
  FROM [[sched_setaffinity(process, ]] TO [[sched_setaffinity(0 * process, ]])
sattn_dispatch_defect(measure_never_stopped FILE bench/measure/rounds.c COMMAND test_measure
  FROM [[options->is_stopped())]] TO [[!options->is_stopped())]])
