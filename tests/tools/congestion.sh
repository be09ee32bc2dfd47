#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows congestion control over real UDP, between two processes: what RIG5_FAULT=mark=P marks is seen
# by the receiver, which tells the sender; without marks, or without an algorithm, nobody is told;
# over a bottleneck the queue does it. By captures of both ends, as `rig5 decode` prints them.
set -u
rig5=$1/rig5
failures=0
work=$(mktemp -d)
target=

clean_up() {
	[[ -n $target ]] && kill -TERM "$target" && wait "$target" # timeout, which tells its child
	rm -rf "$work"
} 2>/dev/null
trap clean_up EXIT

fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# transfer <cc> <faults of the sender> - $work/a and $work/b are what the two saw.
transfer() {
	rm -f "$work"/*
	RIG5_PCAP=$work/b.pcap RIG5_SOFT=soft0,addr=127.83.2.2,cc=$1 timeout 100 "$rig5" perf \
		--nic soft0 --listen 127.0.0.1:18620 >"$work/target" 2>&1 &
	target=$!
	for ((i = 0; i < 1000; i++)); do
		grep -q '^Listening' "$work/target" && break
		sleep 0.01
	done
	RIG5_FAULT=$2 RIG5_PCAP=$work/a.pcap RIG5_SOFT=soft0,addr=127.83.2.1,cc=$1 timeout 100 \
		"$rig5" perf --nic soft0 --to 127.0.0.1:18620 --op write --bw --size 64K \
		--iterations 100 >"$work/out" 2>&1 || { cat "$work/out"; fail "perf, cc=$1 $2"; }
	wait "$target"
	target=
	"$rig5" decode "$work/a.pcap" >"$work/a" || fail "cc=$1 $2: the sender's capture"
	"$rig5" decode "$work/b.pcap" >"$work/b" || fail "cc=$1 $2: the receiver's capture"
}

# count <file> <pattern>
count() {
	grep -c "$2" "$work/$1"
}

# expect <what> <number> <operator> <number>
expect() {
	(($2 $3 $4)) || fail "$1: $2, not $3 $4"
}

transfer dcqcn mark=20%
marked=$(count b ' ce ')
expect "marked packets of about 1600" "$marked" '>' 100
expect "notifications sent" "$(count b ' CNP ')" '>' 0
expect "notifications sent" "$(count b ' CNP ')" '<=' "$marked"
expect "notifications that came" "$(count a ' CNP ')" '==' "$(count b ' CNP ')"
expect "notifications that were marked" "$(grep ' CNP ' "$work/a" | grep -c ' ce ')" '==' 0
expect "acknowledgements that were marked" "$(grep ' RC_ACK ' "$work/b" | grep -c ' ce ')" '==' 0

transfer dcqcn ''
expect "marked packets without a cause" "$(count b ' ce ')" '==' 0
expect "notifications without a cause" "$(count b ' CNP ')" '==' 0

transfer none mark=100%
expect "marked packets that may not be" "$(count b ' ce ')" '==' 0
expect "notifications about none" "$(count b ' CNP ')" '==' 0

transfer dcqcn rate=400Mb/s,queue=2MB,mark=50kB
expect "packets that found a queue" "$(count b ' ce ')" '>' 0
expect "notifications about the queue" "$(count a ' CNP ')" '>' 0

exit $((failures != 0))
