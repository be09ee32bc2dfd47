# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Two hosts: network namespaces with a pair of virtual Ethernet interfaces between. Source it after
# _run.sh; then pair's server is on one (10.56.1.1, fd56:1::1), its client on the other (.2, ::2).
# Needs root.

need ip
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
