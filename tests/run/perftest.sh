#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that perftest runs on the software NIC, above all over reliable connections. By running both
# ends, each under `rig5 run`, in the modes that take different ways through libmlx5.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ib_write_bw ib_read_lat ib_send_bw ib_atomic_bw

rows '' <<'END'
ib_write_bw -n 200 -s 65536
ib_write_bw -n 20 -a
ib_write_bw -n 200 -q 8 -s 4096
ib_write_bw -n 200 -b -s 4096
ib_write_bw -n 96 -q 8 -b -l 8 -s 4096
ib_write_bw -n 200 -I 64 -s 64
ib_write_bw -n 200 --use_old_post_send
ib_write_lat -n 20
ib_write_lat -n 50 -I 64 -s 64
ib_write_lat -n 50 --use_old_post_send
ib_read_bw -n 200 -s 65536
ib_read_bw -n 100 -q 8 -b -s 4096
ib_read_bw -n 200 -e
ib_read_bw -n 200 --use_old_post_send
ib_read_lat -n 200
ib_read_lat -n 100 -e
ib_read_lat -n 100 --use_old_post_send
ib_send_bw -n 200 -s 65536
ib_send_bw -n 200 -q 8 -b
ib_send_bw -n 200 -e
ib_send_bw -n 200 -I 64 -s 64
ib_send_bw -n 200 --use_old_post_send
ib_send_lat -n 200
ib_send_lat -n 200 -I 64 -s 64
ib_send_lat -n 200 -e
ib_send_lat -n 100 --use_old_post_send
ib_atomic_bw -n 200
ib_atomic_bw -n 200 -A CMP_AND_SWAP
ib_atomic_bw -n 100 -q 8 -b
ib_atomic_bw -n 200 -e
ib_atomic_bw -n 200 --use_old_post_send
ib_atomic_lat -n 200
ib_atomic_lat -n 100 -e -A CMP_AND_SWAP
ib_atomic_lat -n 100 --use_old_post_send
ib_write_bw -c UC -n 200
ib_write_lat -c UC -n 50
ib_send_bw -c UC -n 200 -r 200 -b
ib_send_bw -c UD -n 200 -q 8
ib_send_lat -c UD -n 100 -e -I 64 -s 64
ib_send_lat -c DC -n 100
ib_send_bw -c DC -n 100 -q 4
ib_write_bw -c DC -n 200 -s 65536
ib_read_bw -c DC -n 100 -s 65536
ib_atomic_bw -c DC -n 100
END
no_trees
finish
