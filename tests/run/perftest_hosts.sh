#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that perftest reaches another host: every tool over the services that two_hosts.sh leaves
# out (RC, XRC), many queue pairs, both ways, sleeping, inline, from a shared receive queue, through
# the old functions. By running the ends in two network namespaces; needs root.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
# shellcheck source=tests/run/_hosts.sh
. "$RIG5_SOURCE_DIR/tests/run/_hosts.sh"
need ib_write_bw ib_read_lat ib_send_bw ib_atomic_bw

# shellcheck disable=SC2034
server_options=(--nic addr=10.56.1.1) client_options=(--nic addr=10.56.1.2)
rows 'IPv4: ' <<'END'
ib_write_bw -n 20 -a
ib_write_bw -n 50 -q 8 -b -s 4096
ib_write_bw -n 100 -I 64 -s 64 --use_old_post_send
ib_write_lat -n 50
ib_read_bw -n 50 -q 8 -b -s 4096
ib_read_lat -n 50 -e
ib_send_bw -n 50 -q 8 -b -s 4096
ib_send_bw -n 100 -e --use_old_post_send
ib_send_bw -n 50 --use-srq -q 4
ib_send_lat -n 50 -e -I 64 -s 64
ib_atomic_bw -n 50 -q 8 -b
ib_atomic_lat -n 50 -e
ib_write_bw -n 50 -c XRC
ib_read_lat -n 50 -c XRC
ib_send_bw -n 50 -c XRC -e
ib_atomic_bw -n 50 -c XRC
END
# shellcheck disable=SC2034
server_options=(--nic addr=fd56:1::1) client_options=(--nic addr=fd56:1::2)
rows 'IPv6: ' <<'END'
ib_write_bw -n 100
ib_read_bw -n 100
ib_send_lat -n 50 -e
ib_atomic_lat -n 50
END
no_trees
finish
