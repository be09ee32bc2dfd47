#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that libibverbs' ping-pong programs run on the software NIC, and that their data is right.
# By running both ends, each under `rig5 run`: busy, sleeping (-e), with the data checked (-c), on
# Ethernet and on InfiniBand.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ibv_rc_pingpong ibv_ud_pingpong ibv_uc_pingpong

for mode in "" "-e" "-c" "-c -e"; do
	# shellcheck disable=SC2086
	try "rc, Ethernet ${mode:-busy}" pair ibv_rc_pingpong -g 0 -n 500 $mode
done
run_options=(--nic ll=ib,lid=61)
for mode in "" "-e -c"; do
	# shellcheck disable=SC2086
	try "rc, InfiniBand ${mode:-busy}" pair ibv_rc_pingpong -n 500 $mode
done
# The other modes of these, and all of perftest over them: datagrams_long.sh.
run_options=()
for service in ud uc; do
	try "$service, Ethernet -c -e" pair "ibv_${service}_pingpong" -g 0 -n 200 -c -e
done
no_trees
finish
