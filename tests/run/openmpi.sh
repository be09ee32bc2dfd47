#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that OpenMPI over UCX runs on the software NIC, with every byte checked: 2, 4 and 8 ranks on
# one port, and 2 and 4 ranks in two network namespaces, which speak over UDP.
# By mpi_data.c under mpirun; the ranks of the second namespace are started by a script that stands
# for ssh.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need mpirun
data=$build/tests/run_mpi_data
[[ -x $data ]] || { echo "skipped: built without libopenmpi-dev"; exit 77; }
unset "${!UCX_@}" "${!OMPI_@}"
: >"$work/server"

# UCX and nothing else.
options=(--allow-run-as-root --oversubscribe --mca pml ucx --mca osc ucx --mca btl '^openib,uct'
	--mca pml_ucx_tls any --mca pml_ucx_devices any -x UCX_NET_DEVICES=mlx5_0:1)

# all_right <ranks> - the program says so, and UCX says nothing.
all_right() {
	grep -qx "$1 ranks: all right" "$work/client" &&
		! grep -E 'WARN|ERROR|FATAL|Caught signal' "$work/client"
}

# ranks <number> <transports> [largest] - on one port.
ranks() {
	local number=$1 transports=$2
	shift 2
	timeout 120 "$rig5" run --nic addr=127.94.1.1 -- mpirun "${options[@]}" -np "$number" \
		-x UCX_TLS="$transports,self" "$data" "$@" >"$work/client" 2>&1 && all_right "$number"
}

for transports in rc_mlx5,ud_mlx5 dc_mlx5 ud_mlx5 rc_verbs,ud_verbs; do
	try "2 ranks, $transports" ranks 2 $transports
done
try "4 ranks, rc_mlx5" ranks 4 rc_mlx5,ud_mlx5 70000
try "4 ranks, dc_mlx5" ranks 4 dc_mlx5 70000
try "8 ranks, ud_mlx5" ranks 8 ud_mlx5 8192
no_trees

if ((EUID != 0)) || ! command -v ip >/dev/null || ! command -v unshare >/dev/null; then
	echo "not shown: two namespaces, which need root, ip(8) and unshare(1)"
	finish
fi
here=rig5-mpi-$$-a
there=rig5-mpi-$$-b
remove_namespaces() {
	[[ $BASHPID == "$$" ]] || return
	ip netns delete "$here"
	ip netns delete "$there"
	clean_up
} 2>/dev/null
trap remove_namespaces EXIT
if ! ip netns add "$here" || ! ip netns add "$there" ||
	! ip link add rig5v mtu 9000 netns "$here" type veth peer name rig5v mtu 9000 netns "$there"; then
	echo "not shown: two namespaces: no namespaces or no veth here"
	finish
fi
ip -n "$here" address add 10.57.1.1/24 dev rig5v
ip -n "$there" address add 10.57.1.2/24 dev rig5v
for ns in "$here" "$there"; do
	ip -n "$ns" link set lo up
	ip -n "$ns" link set rig5v up
done

# What mpirun takes for ssh: <host> <command>. A name of its own makes it a machine of its own.
cat >"$work/agent" <<AGENT
#!/bin/sh
shift
exec ip netns exec $there unshare -u sh -c "hostname rig5-there; \$*"
AGENT
chmod +x "$work/agent"

# hosts <ranks on each> <transports> [largest]
hosts() {
	local each=$1 transports=$2
	shift 2
	timeout 120 ip netns exec "$here" mpirun "${options[@]}" \
		--host "10.57.1.1:$each,10.57.1.2:$each" --map-by node \
		--mca plm_rsh_agent "$work/agent" --mca oob_tcp_if_include rig5v \
		-x UCX_TLS="$transports,self" "$rig5" run --nic addr=rig5v -- "$data" "$@" \
		>"$work/client" 2>&1 && all_right $((2 * each))
}

for transports in rc_mlx5,ud_mlx5 dc_mlx5 ud_mlx5 rc_verbs,ud_verbs; do
	try "two hosts, $transports" hosts 1 $transports 300000
done
try "two hosts, 4 ranks, rc_mlx5" hosts 2 rc_mlx5,ud_mlx5 70000
no_trees
finish
