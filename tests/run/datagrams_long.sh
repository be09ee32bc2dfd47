#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that unconnected services run on the software NIC: libibverbs' ping-pong programs and
# perftest over UC and UD, and perftest to multicast groups. By running both ends, each under
# `rig5 run`, on Ethernet and on InfiniBand. Nothing makes up for a message that finds no receive, so
# a receiver gets as many as there are messages (-r).
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ibv_ud_pingpong ibv_uc_pingpong ib_send_bw ib_send_lat ib_write_bw ib_write_lat

for service in ud uc; do
	for mode in "" "-e" "-c" "-c -e"; do
		# shellcheck disable=SC2086
		try "$service, Ethernet ${mode:-busy}" \
			pair "ibv_${service}_pingpong" -g 0 -n 500 $mode
	done
done
rows '' <<'END'
ib_send_lat -c UD -n 200
ib_send_lat -c UD -n 200 -I 64 -s 64
ib_send_lat -c UD -n 200 -e
ib_send_bw -c UD -n 500
ib_send_bw -c UD -n 500 -e
ib_send_bw -c UD -n 200 -q 8
ib_send_bw -c UD -n 200 -a
ib_send_bw -c UD -n 500 -b
ib_send_bw -c UD -n 500 --use_old_post_send
ib_send_lat -c UD -n 200 --use_old_post_send
ib_send_bw -c UD -n 200 -r 400 -q 8 -b
ib_send_lat -c UC -n 200
ib_send_lat -c UC -n 200 -e
ib_send_bw -c UC -n 200 -r 200
ib_send_bw -c UC -n 100 -r 100 -a
ib_send_bw -c UC -n 100 -r 100 -q 4 -s 4096
ib_send_lat -c UC -n 200 -I 64 -s 64
ib_send_bw -c UC -n 100 -r 200 -b -q 8 -s 4096
ib_send_bw -c UC -n 100 -r 200 -e --use_old_post_send
ib_write_lat -c UC -n 200
ib_write_lat -c UC -n 100 -I 64 -s 64
ib_write_bw -c UC -n 50 -q 8 -b -s 4096
ib_write_bw -c UC -n 200
ib_write_bw -c UC -n 50 -a
ib_write_bw -c UC -n 200 --use_old_post_send
ib_send_lat -c UD -g -n 200
ib_send_bw -c UD -g -M 0:0:0:0:0:0:0:0:0:0:255:255:239:1:2:3 -n 500
END

run_options=(--nic ll=ib,lid=63)
for service in ud uc; do
	for mode in "" "-e -c"; do
		# shellcheck disable=SC2086
		try "$service, InfiniBand ${mode:-busy}" pair "ibv_${service}_pingpong" -n 500 $mode
	done
done
try "ib_send_bw, InfiniBand" pair ib_send_bw -c UD -n 500
no_trees
finish
