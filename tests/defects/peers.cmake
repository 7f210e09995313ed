# SPDX-License-Identifier: MIT
# Defects of what starts and asks the hosts of peers.

set(process FILE bench/peers/process.c COMMAND test_peers_process)
sattn_dispatch_defect(peers_environment_handed_on ${process}
  FROM [[if (!is_steering(environ[i]))]] TO [[if (environ[i])]])
sattn_dispatch_defect(peers_cap_not_told ${process}
  FROM [[cap && s < SWITCHES; ++s)]] TO [[cap && s < 0; ++s)]])
sattn_dispatch_defect(peers_output_left_open ${process}
  FROM [[close(peer->output);]] TO [[(void)peer->output;]])
sattn_dispatch_defect(peers_end_without_its_last_line ${process}
  FROM [[last_line(peer, line, sizeof line);]] TO [[line[0] = '\0';]])
sattn_dispatch_defect(peers_dead_one_called_ready ${process}
  FROM [["%s%s%s", end, *line ? ": " : "", line);
    peer->is_ready = false;]]
  TO [["%s%s%s", end, *line ? ": " : "", line);]])
sattn_dispatch_defect(peers_failure_forgotten FILE bench/peers/call.c COMMAND test_peers_process
  FROM [[    call->failed = true;
]] TO [[
]])
