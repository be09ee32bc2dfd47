#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that UCX runs on the software NIC: its transports are listed, each way that it makes its queues
# (through DevX, mlx5dv and the verbs) moves bytes as they should be, and no log has a warning.
# By ucx_info, ucx_perftest and a program that looks at the bytes, in pairs under `rig5 run`.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ucx_info ucx_perftest

unset "${!UCX_@}"
export UCX_NET_DEVICES=mlx5_0:1

# What UCX says of trouble, and does not end for.
quiet() {
	! grep -hE 'WARN|ERROR|FATAL|Assertion' "$@"
}

transports() {
	local transport
	"$rig5" run "${run_options[@]}" -- ucx_info -d >"$work/client" 2>&1 || return 1
	: >"$work/server"
	quiet "$work/client" || return 1
	for transport in rc_verbs rc_mlx5 ud_verbs ud_mlx5; do
		grep -q "Transport: $transport\$" "$work/client" || return 1
	done
}

measured() {
	pair ucx_perftest -n 200 -w 20 "$@" && quiet "$work/server" "$work/client" &&
		grep -q Final: "$work/client"
}

# The program takes port and address without options.
checked() {
	local port server status
	port=$(free_port)
	timeout 60 "$rig5" run "${run_options[@]}" -- "$build/tests/run_ucx_check" "$port" >"$work/server" 2>&1 &
	server=$!
	await_listener "$port" || return 1
	timeout 60 "$rig5" run "${run_options[@]}" -- "$build/tests/run_ucx_check" "$port" 127.0.0.1 \
		>"$work/client" 2>&1
	status=$?
	wait "$server" || status=1
	quiet "$work/server" "$work/client" || status=1
	return "$status"
}

try 'ucx_info -d' transports
while read -r devx tls test; do
	export UCX_IB_MLX5_DEVX=$devx UCX_TLS=$tls,self
	try "ucx_perftest -t $test, $tls, DevX $devx" measured -t "$test"
done <<'END'
y rc_mlx5,ud_mlx5 tag_lat
y rc_mlx5,ud_mlx5 ucp_fadd
n rc_mlx5,ud_mlx5 tag_lat
y ud_mlx5 tag_lat
n rc_verbs,ud_verbs tag_lat
END

while read -r devx tls; do
	export UCX_IB_MLX5_DEVX=$devx UCX_TLS=$tls,self
	try "bytes, $tls, DevX $devx" checked
done <<'END'
y rc_mlx5,ud_mlx5
n rc_mlx5,ud_mlx5
y ud_mlx5
n rc_verbs,ud_verbs
END
run_options=(--nic=mlx5_0,ll=ib,lid=77)
export UCX_IB_MLX5_DEVX=y UCX_TLS=rc_mlx5,ud_mlx5,self
try 'bytes, rc_mlx5,ud_mlx5, InfiniBand' checked
no_trees
finish
