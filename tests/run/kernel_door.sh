#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that our own library, given a NIC of the kernel's, opens, maps and drives it through libc's
# calls: its commands run on mlx5_0 under `rig5 run`, where the software NIC answers these. By
# `rig5 devices`, `rig5 perf` with every byte checked, and files sent and compared; within a port and
# between two, on Ethernet and on InfiniBand.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"

# on <words of the NIC> <argument>... - rig5 on mlx5_0.
on() {
	local words=$1
	shift
	timeout 120 "$rig5" run --nic "mlx5_0,$words" -- "$rig5" "$@"
}

lists() {
	on "$1" devices >"$work/client" 2>&1 && grep -q '^mlx5_0 ' "$work/client"
}

# perf <words of the NIC> <option>... - both ends in one run, each in its process.
perf() {
	local words=$1
	shift
	on "$words" perf --nic mlx5_0 --check --size 8,300,5000,64K --iterations 20 "$@" \
		>"$work/client" 2>&1
}

# transfer <words of one NIC> <of the other> - a file's way from one to the other.
transfer() {
	local port server status
	port=$(free_port)
	rm -rf "$work/in"
	mkdir "$work/in"
	on "$2" recv --nic mlx5_0 --listen "127.0.0.1:$port" "$work/in" >"$work/server" 2>&1 &
	server=$!
	await_listener "$port" || return 1
	on "$1" send --nic mlx5_0 --to "127.0.0.1:$port" "$work/file" >"$work/client" 2>&1
	status=$?
	((status == 0)) || kill "$server"
	wait "$server" || status=1
	cmp "$work/file" "$work/in/file" && return "$status"
}

head -c 3000001 /dev/urandom >"$work/file"
one=addr=127.62.3.1 other=addr=127.62.3.2 infiniband=ll=ib,lid=64
try "devices" lists $one
try "perf" perf $one
try "perf --passive" perf $one --passive --op write,read
try "send, one port" transfer $one $one
try "send, two ports" transfer $one $other
try "perf, InfiniBand" perf $infiniband --op send
try "send, InfiniBand" transfer $infiniband $infiniband
no_trees
finish
