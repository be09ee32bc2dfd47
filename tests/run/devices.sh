#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that a program finds the software NICs, by the names and with the properties that were asked
# for, beside real devices or without them. By comparing what ibv_devices, ibv_devinfo and sysfs say
# with the options; the real devices are those of a sysfs folder made up for it.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ibv_devices ibv_devinfo rdma

# says <pattern> <command>... - the output has such a line.
says() {
	local pattern=$1
	shift
	timeout 30 "$@" >"$work/client" 2>&1
	grep -Eq -- "$pattern" "$work/client"
}

# has <text> <file below /sys> - in a run with $run_options.
has() {
	local got
	got=$(timeout 30 "$rig5" run "${run_options[@]}" -- cat "$2" 2>"$work/server" </dev/null)
	[[ $got == "$1" ]] && return 0
	echo "$2 has '$got', not '$1'" >"$work/client"
	return 1
}

tab=$'\t'
ib=/sys/class/infiniband
run_options=(--nic addr=127.61.3.1)
try "ibv_devices lists mlx5_0" \
	says "^ *mlx5_0 *${tab}02[0-9a-f]{14}\$" "$rig5" run "${run_options[@]}" -- ibv_devices

# Every field of ibv_devinfo that an option or the wire decides, and each that can be wrong.
info() {
	timeout 30 "$rig5" run "${run_options[@]}" -- ibv_devinfo -v >"$work/info" 2>&1
}
field() {
	grep -Eq -- "^[[:space:]]*$1[[:space:]]+$2\$" "$work/info" && return 0
	grep -- "$1" "$work/info" >"$work/client"
	return 1
}
info || fail "ibv_devinfo -v"
while read -r name value; do
	try "ibv_devinfo: $name $value" field "$name" "$value"
done <<'END'
hca_id: mlx5_0
transport: InfiniBand \(0\)
fw_ver: 0\.1\.0000
node_guid: 0200:00ff:fe3d:0301
sys_image_guid: 0200:00ff:fe3d:0301
vendor_id: 0x02c9
vendor_part_id: 4123
hw_ver: 0x0
board_id: RIG5_SOFT
phys_port_cnt: 1
atomic_cap: ATOMIC_HCA \(1\)
num_comp_vectors: [1-9][0-9]*
port: 1
state: PORT_ACTIVE \(4\)
max_mtu: 4096 \(5\)
active_mtu: 4096 \(5\)
sm_lid: 0
port_lid: 0
link_layer: Ethernet
max_msg_sz: 0x40000000
pkey_tbl_len: 1
gid_tbl_len: 16
active_width: 4X \(2\)
active_speed: 25\.0 Gbps \(32\)
phys_state: LINK_UP \(5\)
GID\[[[:space:]]*0\]: ::ffff:127\.61\.3\.1, RoCE v2
END
# sysfs - lines of a text and the file that must have it.
sysfs() {
	local text file
	while IFS='|' read -r text file; do
		try "sysfs: $file" has "$text" "$file"
	done
}
sysfs <<END
0x15b3|$ib/mlx5_0/device/vendor
0x101b|$ib/mlx5_0/device/device
0x020000|$ib/mlx5_0/device/class
-1|$ib/mlx5_0/device/numa_node
$(cat /sys/devices/system/cpu/online)|$ib/mlx5_0/device/local_cpulist
231:192|/sys/class/infiniband_verbs/uverbs0/dev
mlx5_0|/sys/class/infiniband_verbs/uverbs0/ibdev
0200:00ff:fe3d:0301|$ib/mlx5_0/node_guid
MT4123|$ib/mlx5_0/hca_type
0.1.0|$ib/mlx5_0/fw_ver
4: ACTIVE|$ib/mlx5_0/ports/1/state
5: LinkUp|$ib/mlx5_0/ports/1/phys_state
100 Gb/sec (4X EDR)|$ib/mlx5_0/ports/1/rate
Ethernet|$ib/mlx5_0/ports/1/link_layer
RoCE v2|$ib/mlx5_0/ports/1/gid_attrs/types/0
lo|$ib/mlx5_0/ports/1/gid_attrs/ndevs/0
0xffff|$ib/mlx5_0/ports/1/pkeys/0
0000:0000:0000:0000:0000:ffff:7f3d:0301|$ib/mlx5_0/ports/1/gids/0
$(cat /sys/class/net/lo/address)|$ib/mlx5_0/device/net/lo/address
END

# Two NICs, the second an InfiniBand one with a name and a NUMA node.
run_options=(--nic addr=127.61.3.1 --nic fast7,ll=ib,lid=0x3d)
node=-1
if [[ -r /sys/devices/system/node/node0/cpulist ]]; then
	run_options=(--nic addr=127.61.3.1 --nic fast7,ll=ib,lid=0x3d,numa=0)
	node=0
fi
try "ibv_devices lists the first" \
	says "^ *mlx5_0 " "$rig5" run "${run_options[@]}" -- ibv_devices
try "ibv_devices lists the second" \
	says "^ *fast7 " "$rig5" run "${run_options[@]}" -- ibv_devices
sysfs <<END
$node|$ib/fast7/device/numa_node
0x020700|$ib/fast7/device/class
0x3d|$ib/fast7/ports/1/lid
InfiniBand|$ib/fast7/ports/1/link_layer
231:193|/sys/class/infiniband_verbs/uverbs1/dev
END
# By netlink, where iproute2 looks.
rdma_says() {
	local wanted=$1 got
	shift
	got=$(timeout 30 "$rig5" run "${run_options[@]}" -- rdma "$@")
	[[ $got == $wanted ]] || fail "rdma $*: '$got'"
}
rdma_says "0: mlx5_0: node_type ca fw * node_guid 02*
1: fast7: node_type ca fw * node_guid 02*" dev
rdma_says "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev lo *
link fast7/1 subnet_prefix fe80:0000:0000:0000 lid 61 * state ACTIVE physical_state LINK_UP*" link
rdma_says '*"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"lo"*' \
	link show -j
rdma_says "netns shared*" system
got=$(timeout 30 "$rig5" run "${run_options[@]}" -- rdma dev set mlx5_0 name x 2>&1) &&
	fail "rdma renames a device: '$got'"
real=$(timeout 30 "$rig5" run "${run_options[@]}" -- sh -c "realpath $ib/mlx5_0 $ib/fast7")
[[ $real == "/sys/devices/pci7269:00/7269:00:01.0/infiniband/mlx5_0
/sys/devices/pci7269:00/7269:00:02.0/infiniband/fast7" ]] || fail "PCI paths: $real"
kind=$(timeout 30 "$rig5" run "${run_options[@]}" -- \
	stat -c '%F %t:%T' /dev/infiniband/uverbs0 /dev/infiniband/uverbs1 2>"$work/client")
[[ $kind == "character special file e7:c0
character special file e7:c1" ]] || fail "verbs files: $kind $(<"$work/client")"
# access() asks the file itself, and root may do all.
for name in uverbs0 uverbs1; do
	got=$(timeout 30 "$rig5" run "${run_options[@]}" -- \
		env -u LD_PRELOAD find "$XDG_RUNTIME_DIR" -type f -name "$name" -perm -600 2>"$work/client")
	[[ $got == */dev/infiniband/$name ]] || fail "$name: its owner may not read and write it"
done
timeout 30 "$rig5" run "${run_options[@]}" -- ibv_devinfo -d fast7 -v >"$work/info" 2>&1
try "ibv_devinfo: InfiniBand" field link_layer: InfiniBand
try "ibv_devinfo: LID" field port_lid: 61

# Eight, each with a PCI device of its own, and what UCX and NCCL choose by.
run_options=()
wanted=
for i in 1 2 3 4 5 6 7 8; do
	run_options+=(--nic "addr=127.61.3.$i")
	wanted+="mlx5_$((i - 1)) /sys/devices/pci7269:00/7269:00:0$i.0 -1 lo
"
done
# shellcheck disable=SC2016
got=$(timeout 30 "$rig5" run "${run_options[@]}" -- sh -c '
	for name in $(ibv_devices | sed -n "s/^ *\(mlx5_[0-9]*\).*/\1/p"); do
		device=/sys/class/infiniband/$name/device
		echo $name $(realpath $device) $(cat $device/numa_node) $(ls $device/net)
	done' 2>"$work/client")
[[ $got == "${wanted%?}" ]] || fail "eight NICs: $got $(<"$work/client")"

# Real devices, in a folder that SYSFS_PATH names.
fake=$work/sysfs
device=devices/pci0000:00/0000:00:05.0
mkdir -p "$fake/$device/infiniband/mlx5_4" "$fake/$device/infiniband_verbs/uverbs4" \
	"$fake/class/infiniband" "$fake/class/infiniband_verbs"
echo "1: CA" >"$fake/$device/infiniband/mlx5_4/node_type"
echo mlx5_4 >"$fake/$device/infiniband_verbs/uverbs4/ibdev"
echo 6 >"$fake/class/infiniband_verbs/abi_version"
ln -s "../../$device/infiniband/mlx5_4" "$fake/class/infiniband/mlx5_4"
ln -s "../../$device/infiniband_verbs/uverbs4" "$fake/class/infiniband_verbs/uverbs4"
run_options=(--nic addr=127.61.3.1)
export SYSFS_PATH=$fake
list() {
	timeout 30 "$rig5" run "$@" 2>/dev/null | tr '\n' ' '
}
for folder in /sys "$fake"; do
	got=$(list "${run_options[@]}" -- ls "$folder/class/infiniband")
	[[ $got == "mlx5_0 mlx5_4 " ]] || fail "beside real ones: '$got'"
	got=$(list "${run_options[@]}" -- cat "$folder/class/infiniband/mlx5_4/node_type")
	[[ $got == "1: CA " ]] || fail "a real one's file: '$got'"
	got=$(list "${run_options[@]}" --hide-real -- ls "$folder/class/infiniband")
	[[ $got == "mlx5_0 " ]] || fail "without real ones: '$got'"
done
got=$(list "${run_options[@]}" -- ls "$fake/class/infiniband_verbs")
[[ $got == "abi_version uverbs4 uverbs5 " ]] || fail "verbs files beside real ones: '$got'"
got=$(list "${run_options[@]}" -- realpath "$fake/class/infiniband/mlx5_0")
[[ $got == "$fake/devices/pci7269:00/7269:00:01.0/infiniband/mlx5_0 " ]] ||
	fail "realpath below SYSFS_PATH: '$got'"
rdma_says "4: mlx5_4: *
5: mlx5_0: *" dev
run_options+=(--hide-real)
rdma_says "0: mlx5_0: *" dev
run_options=(--nic addr=127.61.3.1)
try "ibv_devices beside a real one" \
	says "^ *mlx5_0 " "$rig5" run "${run_options[@]}" -- ibv_devices
try "a name that a real one has" \
	says "this machine has a real mlx5_4" "$rig5" run --nic mlx5_4,addr=127.61.3.1 -- true
unset SYSFS_PATH
no_trees
finish
