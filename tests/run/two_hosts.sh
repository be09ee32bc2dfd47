#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that programs on the software NICs of two hosts reach each other: over RC, UC and UD, and by
# IP multicast; IPv4 and IPv6. By running the ends in two network namespaces with a pair of virtual
# Ethernet interfaces between; needs root.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
# shellcheck source=tests/run/_hosts.sh
. "$RIG5_SOURCE_DIR/tests/run/_hosts.sh"
need ibv_ud_pingpong ibv_uc_pingpong ibv_rc_pingpong ib_send_bw ib_send_lat ib_write_lat

both="ibv_rc_pingpong -g 0 -n 200 -c
ibv_uc_pingpong -g 0 -n 200 -c -e
ibv_ud_pingpong -g 0 -n 200 -c -e
ib_send_lat -c UD -n 100
ib_send_lat -c UC -n 100
ib_send_bw -c UD -n 300 -s 1024
ib_send_bw -c UC -n 100 -r 100 -s 4096
ib_write_lat -c UC -n 100"

# shellcheck disable=SC2034
server_options=(--nic addr=10.56.1.1) client_options=(--nic addr=10.56.1.2)
rows "IPv4: " <<END
$both
ib_send_bw -c UD -g -M 0:0:0:0:0:0:0:0:0:0:255:255:239:1:2:3 -n 300
ib_send_lat -c UD -g -n 100
END
# shellcheck disable=SC2034
server_options=(--nic addr=fd56:1::1) client_options=(--nic addr=fd56:1::2)
rows "IPv6: " <<END
$both
ib_send_bw -c UD -g -M 255:14:0:0:0:0:0:0:0:0:0:0:0:0:0:9 -n 300
END
no_trees
finish
