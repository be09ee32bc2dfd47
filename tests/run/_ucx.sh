# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the tests of UCX share; source it after _run.sh. A transport is named as UCX names it;
# reliable ones need datagrams to get acquainted.

unset "${!UCX_@}"
data=$build/tests/run_ucx_data

# quiet - what UCX says of trouble, and does not end for, is in no log.
quiet() {
	! grep -HE 'WARN|ERROR|FATAL|Assertion|Caught signal' "$work/server" "$work/client"
}

# with <transport> [NAME=VALUE]... -- <command>... - the command, with UCX told to use nothing else.
with() (
	export UCX_TLS=$1,self UCX_NET_DEVICES=mlx5_0:1
	[[ $1 == rc_* ]] && UCX_TLS=$1,ud_${1#rc_},self
	shift
	while [[ $1 != -- ]]; do
		export "${1?}"
		shift
	done
	shift
	"$@"
)

# measured <batch> <count> [option]... - ucx_perftest ends well, and has a result for each line.
measured() {
	local batch=$1 lines
	shift
	pair ucx_perftest -f -v -b "$batch" "$@" && quiet || return 1
	lines=$(grep -c '^[a-z0-9_]*, *[0-9]' "$work/client")
	((lines == $(wc -l <"$batch")))
}

# checked <transport> [option]... - every byte is right, and went that way.
checked() {
	local transport=$1
	shift
	[[ -x $data ]] || { echo "built without libucx-dev"; return 1; }
	pair "$data" "$@" && quiet && grep -q "lane\[0\]: .*:$transport/mlx5_0:1" "$work/client"
}

# batch <file> <times> <test>... - a line for each test, as "tag_lat:8".
batch() {
	local file=$1 times=$2 test
	shift 2
	for test; do
		echo "${test/:/_} -t ${test%:*} -s ${test#*:} -n $times -w 1"
	done >"$file"
}
