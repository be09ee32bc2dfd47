#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that programs with shared receive queues and XRC run on the software NIC: libibverbs'
# ping-pongs, with their data checked where they can, and perftest over all transports that may share
# a queue; and the limit's event, by a program of our own. By running both ends, each under `rig5 run`,
# busy and sleeping (-e), on Ethernet (on one port, and on two over UDP) and on InfiniBand.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ibv_srq_pingpong ibv_xsrq_pingpong ib_send_lat ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw

rows '' <<'END'
ibv_srq_pingpong -g 0 -n 200 -c
ibv_srq_pingpong -g 0 -n 200 -c -e
ibv_srq_pingpong -g 0 -n 200 -q 4 -s 10000 -m 1024
ibv_xsrq_pingpong -g 0 -n 200
ibv_xsrq_pingpong -g 0 -n 200 -e
ib_send_lat -n 100 --use-srq
ib_send_bw -n 100 --use-srq -q 4
ib_send_bw -n 100 --use-srq -e
ib_send_bw -n 100 --use-srq -c UC
ib_send_bw -n 100 --use-srq -c UD
ib_send_lat -n 100 -c XRC
ib_send_lat -n 100 -c XRC -e -I 64 -s 64
ib_send_bw -n 100 -c XRC -q 2
ib_send_bw -n 100 -c XRC -e
ib_send_bw -n 100 -c XRC --use_old_post_send
ib_write_bw -n 100 -c XRC
ib_read_bw -n 100 -c XRC
ib_write_bw -n 100 -c XRC -q 8 -b -s 4096
ib_write_lat -n 50 -c XRC -I 64 -s 64
ib_read_lat -n 50 -c XRC
ib_atomic_bw -n 100 -c XRC
ib_atomic_lat -n 50 -c XRC -e
END
run_options=(--nic ll=ib,lid=62)
rows 'InfiniBand: ' <<'END'
ibv_srq_pingpong -n 200 -c -e
ibv_xsrq_pingpong -n 200
ib_send_bw -n 100 --use-srq
ib_send_lat -n 100 -c XRC
ib_write_bw -n 100 -c XRC
END
# Over UDP: each end on an address of its own.
# shellcheck disable=SC2034
run_options=() server_options=(--nic addr=127.62.1.1) client_options=(--nic addr=127.62.1.2)
rows 'UDP: ' <<'END'
ibv_srq_pingpong -g 0 -n 100 -c
ibv_xsrq_pingpong -g 0 -n 100
ib_write_bw -n 50 -c XRC
ib_read_bw -n 50 -c XRC
ib_atomic_bw -n 50 -c XRC
END
# The event of a queue that runs low.
for nic in addr=127.62.1.3 ll=ib,lid=63; do
	timeout 60 "$rig5" run --nic "$nic" -- "$build/tests/run_srq_limit" >"$work/limit" ||
		fail "the limit on $nic: $(cat "$work/limit")"
done
no_trees
finish
