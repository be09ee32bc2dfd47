#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that UCX runs on the software NIC: its five transports are listed, those that make their
# queues through DevX, mlx5dv and the verbs carry every kind of operation, each byte is where it
# should be, and no log has a warning. By ucx_info, ucx_perftest and a program that looks at the
# bytes (ucx_data.c), in pairs under `rig5 run`. ucx_long.sh does the same at greater length.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
# shellcheck source=tests/run/_ucx.sh
. "$RIG5_SOURCE_DIR/tests/run/_ucx.sh"
need ucx_info ucx_perftest

transports() {
	local transport
	: >"$work/server"
	"$rig5" run "${run_options[@]}" -- ucx_info -d >"$work/client" 2>&1 && quiet || return 1
	for transport in rc_verbs rc_mlx5 ud_verbs ud_mlx5 dc_mlx5; do
		grep -A1 "Transport: $transport\$" "$work/client" | grep -q 'Device: mlx5_0:1$' ||
			return 1
	done
}

try 'ucx_info -d' transports
batch "$work/few" 20 tag_lat:8 tag_bw:65536 ucp_put_bw:1000 ucp_get:20000 ucp_am_lat:100 \
	stream_bw:3000 ucp_add:4 ucp_fadd:8 ucp_swap:8 ucp_cswap:4
# A target of one-sided operations that sleeps is not woken by them, so these are not for -E sleep.
batch "$work/two_sided" 20 tag_lat:8 tag_bw:65536 ucp_am_lat:100 stream_bw:3000
for transport in rc_mlx5 ud_mlx5 dc_mlx5 rc_verbs ud_verbs; do
	try "ucx_perftest, $transport" with $transport -- measured "$work/few"
	try "bytes, $transport" with $transport -- checked $transport -e
done
try "bytes, rc_mlx5, busy" with rc_mlx5 -- checked rc_mlx5
try "ucx_perftest -E sleep, rc_mlx5 without DevX" \
	with rc_mlx5 UCX_IB_MLX5_DEVX=n -- measured "$work/two_sided" -E sleep
try "bytes, rc_mlx5 without DevX" with rc_mlx5 UCX_IB_MLX5_DEVX=n -- checked rc_mlx5 -e
try "bytes, dc_mlx5 without DevX" with dc_mlx5 UCX_IB_MLX5_DEVX=n -- checked dc_mlx5 -e
try "bytes, rc_mlx5 without the worker's time" with rc_mlx5 RIG5_LEND=none -- checked rc_mlx5 -e
run_options=(--nic ll=ib,lid=77)
for transport in rc_mlx5 dc_mlx5 ud_verbs; do
	try "bytes, $transport, InfiniBand" with $transport -- checked $transport -e
done
no_trees
finish
