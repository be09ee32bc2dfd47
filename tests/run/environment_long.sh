#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that what libmlx5 and libibverbs can be told by the environment works on the software NIC:
# registers, sizes and places of queues, signatures.
# By one ibv_rc_pingpong with each, its data checked; what has no room says so and ends.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ibv_rc_pingpong

settings=(
	MLX5_SHUT_UP_BF=1 MLX5_POST_SEND_PREFER_BF=0 MLX5_SINGLE_THREADED=1
	MLX5_TOTAL_UUARS=32 MLX5_NUM_LOW_LAT_UUARS=0 "MLX5_TOTAL_UUARS=4 MLX5_NUM_LOW_LAT_UUARS=3"
	MLX5_CQE_SIZE=64 MLX5_CQE_SIZE=128
	MLX5_SCATTER_TO_CQE=0 MLX5_SCATTER_TO_CQE=1
	MLX5_QP_SIGNATURE=1 MLX5_SRQ_SIGNATURE=1 MLX5_RWQ_SIGNATURE=1
	HUGE_UC=y HUGE_UD=y HUGE_RAW_ETH=y
	MLX_CQ_ALLOC_TYPE=PREFER_HUGE MLX_QP_ALLOC_TYPE=PREFER_HUGE MLX_QP_ALLOC_TYPE=ANON
	MLX_CQ_ALLOC_TYPE=PREFER_CONTIG MLX_QP_ALLOC_TYPE=ALL
	MLX5_STALL_CQ_POLL=1 "MLX5_STALL_CQ_POLL=1 MLX5_STALL_NUM_LOOP=10"
	MLX5_FREEZE_ON_ERROR_CQE=1 MLX5_DEBUG_FILE=debug MLX5_LOCAL_CPUS=0x3
	IBV_FORK_SAFE=1 RDMAV_FORK_SAFE=1 RDMAV_HUGEPAGES_SAFE=1 IBV_SHOW_WARNINGS=1
	RDMAV_ALLOW_DISASSOC_DESTROY=1 "VERBS_LOG_LEVEL=4 VERBS_LOG_FILE=log"
	MLX5_RELAXED_PACKET_ORDERING_ON=1
)
# Without huge pages the first two find no memory; the last ask for memory that Linux does not give
# any more, nor do we.
if (($(awk '/^HugePages_Free:/ {print $2}' /proc/meminfo) > 8)); then
	settings+=(HUGE_CQ=y HUGE_RC=y)
	refused=()
else
	refused=(HUGE_CQ=y HUGE_RC=y)
fi
refused+=(MLX_CQ_ALLOC_TYPE=CONTIG MLX_QP_ALLOC_TYPE=CONTIG)

refuses() {
	timeout 20 "$rig5" run -- env "$1" ibv_rc_pingpong -g 0 >"$work/server" 2>&1
	(($? == 1)) && grep -q "^Couldn't create" "$work/server"
}

cd "$work" || exit 1
for setting in "${settings[@]}"; do
	# shellcheck disable=SC2086
	try "$setting" pair env $setting ibv_rc_pingpong -g 0 -n 20 -c
done
for setting in "${refused[@]}"; do
	try "$setting is refused" refuses "$setting"
done
finish
