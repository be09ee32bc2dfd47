#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that RIG5_FAULT=delay=T makes either wire that long, and that `rig5 send` does not wait for
# each chunk before the next: by the least latency there is, and by the time that 64 chunks take over
# a wire whose round trips, one for each, would take twice as long.
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

# start <address> <port> <argument>... - a target; waits until it listens.
start() {
	local address=$1 port=$2
	shift 2
	: >"$work/target" # what an earlier target said is not what this one says
	RIG5_SOFT=soft0,addr=$address timeout 100 "$rig5" "$@" --nic soft0 --listen "127.0.0.1:$port" \
		>"$work/target" 2>&1 &
	target=$!
	for ((i = 0; i < 1000; i++)); do
		grep -q '^Listening' "$work/target" && return
		sleep 0.01
	done
	cat "$work/target"
	fail "the target did not start"
}

# over <address> <command> <port> <argument>... - the other side.
over() {
	local address=$1 command=$2 port=$3
	shift 3
	RIG5_SOFT=soft0,addr=$address timeout 100 "$rig5" "$command" --nic soft0 \
		--to "127.0.0.1:$port" "$@" >"$work/out" 2>&1
}

# 1. No message is there earlier, over the local wire and over UDP, and with jitter.
for row in "127.83.1.1 127.83.1.1 delay=3ms" "127.83.1.1 127.83.1.2 delay=3ms" \
	"127.83.1.1 127.83.1.2 delay=3ms,jitter=2ms,drop=20%"; do
	read -r here there faults <<<"$row"
	export RIG5_FAULT=$faults
	start "$there" 18610 perf
	over "$here" perf 18610 --op send --lat --size 8 --iterations 20 --json ||
		{ cat "$work/out"; fail "perf, $row"; }
	wait "$target"
	target=
	least_us=$(grep -o '"min_us": *[0-9]*' "$work/out" | grep -o '[0-9]*$')
	((${least_us:-0} >= 3000)) || fail "$row: a message took ${least_us:-no} us, not 3000"
	[[ $row != *drop* ]] || grep -q '"retransmits": [1-9]' "$work/out" ||
		fail "$row: what was lost was not sent again"
done

# 2. 64 chunks, each 20 ms there and its acknowledgement 20 ms back: 2.56 s, one by one. A chunk is
# 256 KiB or the end of a file; 16 are under way at once, on UDP half a megabyte. The machine may be
# busy: the best of some. What a sanitizer slows down goes over a longer wire.
delay_ms=20
[[ -n ${RIG5_SANITIZE:-} ]] && delay_ms=80
one_by_one_ms=$((64 * 2 * delay_ms))
mkdir "$work/files"
for ((i = 0; i < 64; i++)); do
	head -c 1000 /dev/urandom >"$work/files/$i"
done
mkdir "$work/file"
head -c 16777216 /dev/urandom >"$work/file/large"
export RIG5_FAULT=delay=${delay_ms}ms
for row in "file 127.83.1.1 127.83.1.1" "files 127.83.1.1 127.83.1.1" "files 127.83.1.1 127.83.1.2"; do
	read -r what here there <<<"$row"
	best_ms=1000000
	for ((run = 0; run < 5 && best_ms > one_by_one_ms / 2; run++)); do
		rm -rf "$work/in"
		mkdir "$work/in"
		start "$there" 18611 recv "$work/in"
		begun=$(date +%s%N)
		over "$here" send 18611 "$work/$what"/* || { cat "$work/out"; fail "send, $row"; }
		took_ms=$((($(date +%s%N) - begun) / 1000000))
		wait "$target" || fail "recv, $row"
		target=
		diff -r "$work/$what" "$work/in" || fail "the copy, $row"
		((took_ms < best_ms)) && best_ms=$took_ms
	done
	echo "$row: $best_ms ms; $one_by_one_ms ms one by one"
	((best_ms <= one_by_one_ms / 2)) || fail "$row: a transfer took $best_ms ms"
	((best_ms >= 2 * delay_ms)) || fail "$row: the wire was not slow: $best_ms ms"
done

((failures == 0)) || echo "$failures failures"
exit $((failures != 0))
