#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that programs on the software NICs of two hosts reach each other: over RC, UC and UD, and by
# IP multicast; IPv4 and IPv6. By running the ends in two network namespaces with a pair of virtual
# Ethernet interfaces between; needs root.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ibv_ud_pingpong ibv_uc_pingpong ibv_rc_pingpong ib_send_bw ib_send_lat ib_write_lat ip

((EUID == 0)) || { echo "skipped: needs root"; exit 77; }
here=rig5-$$-c
there=rig5-$$-d

clean_up_hosts() {
	clean_up
	ip netns delete "$here"
	ip netns delete "$there"
} 2>/dev/null
trap clean_up_hosts EXIT

ip netns add "$here" && ip netns add "$there" &&
	ip link add rig5c mtu 9000 netns "$here" type veth peer name rig5d mtu 9000 netns "$there" ||
	{ echo "skipped: no network namespaces or no veth here"; exit 77; }
ip -n "$here" address add 10.56.1.1/24 dev rig5c
ip -n "$there" address add 10.56.1.2/24 dev rig5d
ip -n "$here" address add fd56:1::1/64 dev rig5c nodad
ip -n "$there" address add fd56:1::2/64 dev rig5d nodad
for ns in "$here" "$there"; do
	ip -n "$ns" link set lo up
done
ip -n "$here" link set rig5c up
ip -n "$there" link set rig5d up

# shellcheck disable=SC2034
server_at=(ip netns exec "$here") client_at=(ip netns exec "$there") server_address=10.56.1.1

# rows <name> - the lines of standard input, each a program with its options.
rows() {
	local program options
	while read -r program options; do
		# shellcheck disable=SC2086
		try "$1: $program $options" pair "$program" $options </dev/null
	done
}

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
rows IPv4 <<END
$both
ib_send_bw -c UD -g -M 0:0:0:0:0:0:0:0:0:0:255:255:239:1:2:3 -n 300
ib_send_lat -c UD -g -n 100
END
# shellcheck disable=SC2034
server_options=(--nic addr=fd56:1::1) client_options=(--nic addr=fd56:1::2)
rows IPv6 <<END
$both
ib_send_bw -c UD -g -M 255:14:0:0:0:0:0:0:0:0:0:0:0:0:0:9 -n 300
END
no_trees
finish
