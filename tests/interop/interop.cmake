# SPDX-License-Identifier: BSD-2-Clause
#
# The programs of the interop tests, which interop.rxe runs: the agent, which goes into the guest
# and needs libibverbs alone, and those on our side.

add_executable(interop_agent interop/agent.c)
rig5_link_named(interop_agent interop/agent.c)

add_executable(interop_rxe_rows interop/rxe_rows.c interop/rows.c interop/row_table.c
	interop/agent_side.c interop/nic_side.c interop/local_memory.c interop/frame_wire.c)
rig5_link_layers(interop_rxe_rows test_support lib ${RIG5_LAYERS})
target_link_libraries(interop_rxe_rows PRIVATE PkgConfig::CMOCKA)

add_executable(interop_udp_rows interop/udp_rows.c interop/rows.c interop/row_table.c
	interop/agent_side.c interop/lib_side.c interop/local_memory.c interop/pingpong.c)
rig5_link_layers(interop_udp_rows test_support ${RIG5_LAYERS})
target_link_libraries(interop_udp_rows PRIVATE PkgConfig::CMOCKA)

set_target_properties(interop_agent interop_rxe_rows interop_udp_rows PROPERTIES
	RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# Downloads once, boots, and runs hundreds of rows: longer than other tests.
set_tests_properties(interop.rxe interop.udp interop.programs PROPERTIES TIMEOUT 600)
