# SPDX-License-Identifier: MIT
# Peers: hosts that fail, and each peer against the oracle. A peer that is absent is a skip.
if(SATTN_CMOCKA_LIBRARY)
  sattn_test_program(test_peers_process test_peers_process.c)
  target_link_libraries(test_peers_process PRIVATE sattn_peers ${SATTN_CMOCKA_LIBRARY})
  sattn_test(peers.process COMMAND test_peers_process LABELS peers)
endif()

sattn_test_program(test_peers test_peers.c)
target_link_libraries(test_peers PRIVATE sattn_peers m)
add_dependencies(test_peers sattn_hosts)
foreach(peer IN ITEMS openblas onednn onednn-graph pytorch onnxruntime)
  sattn_test(peers.${peer} COMMAND test_peers --peer=${peer} LABELS peers)
  sattn_test(peers.${peer}.avx2 COMMAND test_peers --peer=${peer} --cap=avx2 LABELS peers)
endforeach()
