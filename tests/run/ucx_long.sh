#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows what ucx.sh shows, in all combinations: sizes from a byte to a MiB, both link layers, with
# DevX and without, polling and sleeping, with the worker's time and without.
# By ucx_perftest and ucx_data.c, in pairs under `rig5 run`.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
# shellcheck source=tests/run/_ucx.sh
. "$RIG5_SOURCE_DIR/tests/run/_ucx.sh"
need ucx_perftest
pair_seconds=240

# each <test>... - with every size.
each() {
	local test size
	for test; do
		for size in 1 64 1000 8192 65536 1048576; do
			echo "$test:$size"
		done
	done
}
# A target of one-sided operations that sleeps is not woken by them, so these are not for -E sleep.
mapfile -t tests < <(each tag_lat tag_bw ucp_am_lat ucp_am_bw stream_lat stream_bw)
batch "$work/two_sided" 10 "${tests[@]}"
mapfile -t tests < <(each ucp_put_bw ucp_get)
batch "$work/one_sided" 10 "${tests[@]}" ucp_{add,fadd,swap,cswap}:{4,8}
batch "$work/few" 20 tag_lat:8 tag_bw:1048576 ucp_put_bw:1000 ucp_get:20000 ucp_am_lat:100 \
	stream_bw:3000 ucp_add:8 ucp_fadd:4 ucp_swap:4 ucp_cswap:8
# Pieces, registered before, synchronous, unexpected, with wild cards, several threads, endpoints
# that handle errors, many under way.
cat >"$work/modes" <<'MODES'
iov -t tag_bw -D iov,contig -s 16,48,8192,8192,14 -n 20 -w 1
registered -t tag_bw -z -s 100000 -n 10 -w 1
sync -t tag_sync_lat -s 2000 -n 10 -w 1
unexpected -t tag_lat -U -s 5000 -n 10 -w 1
wild -t tag_lat -C -s 50 -n 10 -w 1
recv_data -t stream_bw -r recv_data -s 30000 -n 10 -w 1
put_lat -t ucp_put_lat -s 3000 -n 10 -w 1
threads -t tag_lat -T 2 -M multi -s 100 -n 10 -w 1
errors -t tag_lat -e -s 100000 -n 10 -w 1
errors_put -t ucp_put_bw -e -s 100000 -n 10 -w 1
outstanding -t tag_bw -O 64 -s 3000 -n 100 -w 1
header -t ucp_am_lat -H 64 -s 1000 -n 10 -w 1
MODES
# Below UCP: without this rc_verbs does no atomics of its own.
cat >"$work/uct" <<'UCT'
put -t put_lat -s 8 -n 20 -w 1
put_bcopy -t put_bw -D bcopy -s 1000 -n 20 -w 1
put_zcopy -t put_bw -D zcopy -s 100000 -n 20 -w 1
get_bcopy -t get -D bcopy -s 1000 -n 20 -w 1
get_zcopy -t get -D zcopy -s 100000 -n 20 -w 1
am -t am_lat -s 32 -n 20 -w 1
am_zcopy -t am_bw -D zcopy -s 2000 -n 20 -w 1
add -t add_lat -s 8 -n 20 -w 1
fadd -t fadd -s 8 -n 20 -w 1
cswap -t cswap -s 8 -n 20 -w 1
UCT

for layer in Ethernet InfiniBand; do
	run_options=(--nic addr=127.94.3.1)
	[[ $layer == InfiniBand ]] && run_options=(--nic ll=ib,lid=78)
	for transport in rc_mlx5 ud_mlx5 rc_verbs ud_verbs; do
		try "$layer, $transport, asleep" \
			with $transport -- measured "$work/two_sided" -E sleep
		try "$layer, $transport, one-sided" with $transport -- measured "$work/one_sided"
		try "$layer, $transport, busy" with $transport -- measured "$work/few"
		try "$layer, $transport, bytes" with $transport -- checked $transport -r 4
	done
	for transport in rc_mlx5 ud_mlx5; do
		try "$layer, $transport, no DevX" \
			with $transport UCX_IB_MLX5_DEVX=n -- measured "$work/few"
		try "$layer, $transport, no DevX, bytes" \
			with $transport UCX_IB_MLX5_DEVX=n -- checked $transport -e
	done
done
run_options=(--nic addr=127.94.3.1)
for transport in rc_mlx5 ud_mlx5 rc_verbs; do
	try "$transport, modes" with $transport -- measured "$work/modes"
	try "$transport, nobody lends" with $transport RIG5_LEND=none -- measured "$work/few"
	try "$transport, nobody lends, bytes" with $transport RIG5_LEND=none -- checked $transport
done
for transport in rc_mlx5 rc_verbs; do
	try "$transport, below UCP" with $transport -- measured "$work/uct" -d mlx5_0:1 -x $transport
done
no_trees
finish
