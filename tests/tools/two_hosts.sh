#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that software NICs of two hosts reach each other: every operation and whole files, byte for
# byte, over IPv4 and IPv6, at several MTUs, on networks that lose, delay and reorder packets, and
# with the link going down and up. By two network namespaces with a pair of virtual Ethernet
# interfaces between; needs root.
set -u
rig5=$1/rig5
sniff=${RIG5_SOURCE_DIR:?}/tests/tools/_sniff.py
flap=$RIG5_SOURCE_DIR/tests/tools/_flap.py
failures=0

((EUID == 0)) && command -v ip >/dev/null || { echo "skipped: needs root and ip(8)"; exit 77; }
here=rig5-$$-a
there=rig5-$$-b
work=$(mktemp -d)
target=

clean_up() {
	[[ $BASHPID == $$ ]] || return
	[[ -n $target ]] && kill -TERM "$target" && wait "$target" # timeout, which tells its child
	ip netns delete "$here"
	ip netns delete "$there"
	rm -rf "$work"
} 2>/dev/null
trap clean_up EXIT

fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

ip netns add "$here" && ip netns add "$there" &&
	ip link add rig5a netns "$here" type veth peer name rig5b netns "$there" ||
	{ echo "skipped: no network namespaces or no veth here"; exit 77; }
ip -n "$here" address add 10.55.1.1/24 dev rig5a
ip -n "$there" address add 10.55.1.2/24 dev rig5b
ip -n "$here" address add fd55:1::1/64 dev rig5a nodad
ip -n "$there" address add fd55:1::2/64 dev rig5b nodad
for ns in "$here" "$there"; do
	ip -n "$ns" link set lo up
done
ip -n "$here" link set rig5a up
ip -n "$there" link set rig5b up

# on <namespace> <address> <argument>... - rig5 with its software NIC at that address.
on() {
	local ns=$1 address=$2
	shift 2
	RIG5_SOFT=soft0,addr=$address exec timeout 200 ip netns exec "$ns" "$rig5" "$@"
}

# start <log> <on's arguments>... - a target; waits until it listens.
start() {
	local log=$1
	shift
	: >"$log"
	: >"$log.out"
	(on "$@") >"$log.out" 2>"$log" &
	target=$!
	for ((i = 0; i < 500; i++)); do
		grep -q '^Listening' "$log" "$log.out" && return
		sleep 0.01
	done
	cat "$log"
	fail "the target did not start"
}

stop() {
	kill -TERM "$target" 2>/dev/null
	wait "$target" 2>/dev/null
	target=
}

mtu() {
	ip -n "$here" link set rig5a mtu "$1"
	ip -n "$there" link set rig5b mtu "$1"
}

# perf <address here> <address there> <option>... - every byte is checked.
perf() {
	local a=$1 b=$2
	shift 2
	start "$work/perf" "$there" "$b" perf --nic soft0 --listen 10.55.1.2:18600
	(on "$here" "$a" perf --nic soft0 --to 10.55.1.2:18600 --check "$@") >"$work/out" 2>&1 ||
		{ cat "$work/out" "$work/perf"; fail "perf $a $b $*"; }
	stop
}

# transfer <file> <address here> <address there> - sends it, and compares.
transfer() {
	rm -rf "$work/in"
	mkdir "$work/in"
	start "$work/recv" "$there" "$3" recv --nic soft0 --listen 10.55.1.2:18601 "$work/in"
	(on "$here" "$2" send --nic soft0 --to 10.55.1.2:18601 "$1") >"$work/out" 2>&1 ||
		{ cat "$work/out" "$work/recv"; fail "sending $1 from $2 to $3"; }
	wait "$target" || fail "the receiver of $1"
	target=
	cmp "$1" "$work/in/${1##*/}" || fail "the copy of $1 from $2 to $3"
}

# 1. MTUs and both families; what the port says of itself; the capture is of what went.
for row in "1500 4 1024" "9000 4 4096" "1500 6 1024" "4200 6 4096" "2200 4 2048" "1280 6 1024" "600 4 512" \
	"400 4 256"; do
	read -r bytes family wanted <<<"$row"
	a=10.55.1.1 b=10.55.1.2
	((family == 6)) && a=fd55:1::1 b=fd55:1::2
	mtu "$bytes"
	# IPv6 addresses go where the MTU is less than 1280, and do not come back.
	(on "$here" $a devices) >"$work/devices" 2>&1
	grep -q "$a *$wanted\$" "$work/devices" ||
		{ cat "$work/devices"; fail "MTU $wanted of an interface with $bytes"; }
	rm -f "$work/pcap"
	export RIG5_PCAP=$work/pcap
	perf $a $b --size 8,5000,64K --iterations 20
	unset RIG5_PCAP
	"$rig5" decode "$work/pcap" >"$work/decoded" || fail "decode"
	grep -q "$a > $b" "$work/decoded" || fail "no packet from $a to $b in the capture"
	grep -Eq ', 0 with a bad ICRC(,|$)' "$work/decoded" || fail "a wrong ICRC in the capture"
done
mtu 300
(on "$here" 10.55.1.1 devices) >"$work/devices" 2>&1 && grep -q 10.55.1.1 "$work/devices" &&
	fail "a port whose interface carries no packet"
mtu 1500

# 2. What is on the wire, seen by somebody else, when the kernel cuts the segments and numbers them.
for ns in "$here rig5a" "$there rig5b"; do
	ip -n ${ns% *} link set ${ns#* } gso_max_segs 1
done
for family in 4 6; do
	a=10.55.1.1 b=10.55.1.2
	((family == 6)) && a=fd55:1::1 b=fd55:1::2
	ip -n "$here" address replace fd55:1::1/64 dev rig5a nodad
	ip -n "$there" address replace fd55:1::2/64 dev rig5b nodad
	ip netns exec "$there" python3 "$sniff" rig5b "$work/wire" &
	sniffer=$!
	for ((i = 0; i < 500; i++)); do
		[[ -s $work/wire ]] && break
		sleep 0.01
	done
	perf $a $b --size 8,64K --iterations 20
	kill -TERM $sniffer
	wait $sniffer
	"$rig5" decode "$work/wire" >"$work/decoded" || fail "decode"
	grep -Eq ', 0 with a bad ICRC(,|$)' "$work/decoded" ||
		{ grep -v 'icrc ok' "$work/decoded" | tail -3; fail "a wrong ICRC on the wire, IPv$family"; }
	(($(grep -c 'RC_WRITE_MIDDLE.*icrc ok' "$work/decoded") > 500)) || fail "nothing on the wire"
	rm -f "$work/wire"
done

# 3. An interface's name stands for its address. A target that sleeps answers.
perf rig5a rig5b --size 64,64K --iterations 20 --op write,read --passive

# 4. Files and every operation, on a good network and on bad ones: our own faults, by which either
# side loses, delays and reorders what it sends, each alone and all together; and the kernel's, where
# it has them, on both ways. Jitter shuffles what is sent at once, from which a transport that goes
# back to what is missing gains a packet each round: short messages only.
head -c 5000000 /dev/urandom >"$work/file"
both() {
	transfer "$work/file" 10.55.1.1 10.55.1.2
	perf 10.55.1.1 10.55.1.2 --size 8,64K --iterations 20
}
both
for faults in drop=1% delay=1ms reorder=2% \
	drop=1%,delay=1ms,reorder=1%,duplicate=1%,corrupt=1%; do
	export RIG5_FAULT=$faults,seed=9
	both
done
export RIG5_FAULT=delay=1ms,jitter=1ms,drop=1%,seed=9
perf 10.55.1.1 10.55.1.2 --size 8,2000 --iterations 20
unset RIG5_FAULT

# queueing <netem's words>... - on both ways; false: not here.
queueing() {
	tc -n "$here" qdisc replace dev rig5a root netem "$@" 2>/dev/null &&
		tc -n "$there" qdisc replace dev rig5b root netem "$@" 2>/dev/null
}
if command -v tc >/dev/null && queueing delay 1ms; then
	both
	for words in "loss 1%" "delay 1ms reorder 2%" "delay 1ms loss 1% reorder 1% duplicate 1%"; do
		# shellcheck disable=SC2086
		queueing $words limit 10000 || fail "tc netem $words"
		both
	done
	tc -n "$here" qdisc delete dev rig5a root
	tc -n "$there" qdisc delete dev rig5b root
else
	echo "without tc netem: not in this kernel, or no tc"
fi

# 5. The link goes down for a quarter of a second, three times, and comes up again, under a file and
# under messages whose every byte is checked. A queue pair gives up after two seconds, and the
# kernel asks for a neighbour's hardware address once a second: more often here.
ip netns exec "$here" sh -c 'echo 20 >/proc/sys/net/ipv4/neigh/rig5a/retrans_time_ms'
ip netns exec "$there" sh -c 'echo 20 >/proc/sys/net/ipv4/neigh/rig5b/retrans_time_ms'
truncate -s 300000000 "$work/long"

# flap <command>... - the link goes down under the command. Where it was down for much longer than
# meant, as it may be on a machine that does much else, a command that gave up gets another try.
flap() {
	local before=$failures flapping longest_ms attempt
	for ((attempt = 0; attempt < 5; attempt++)); do
		failures=$before
		rm -f "$work/down"
		ip netns exec "$there" python3 "$flap" rig5b "$work/down" &
		flapping=$!
		for ((i = 0; i < 1000; i++)); do
			[[ -e $work/down ]] && break
			sleep 0.01
		done
		"$@"
		[[ -s $work/down ]] || fail "the link was not down during $*"
		kill -TERM $flapping 2>/dev/null
		wait $flapping || fail "$flap"
		longest_ms=$(sort -n "$work/down" | tail -1)
		((failures == before || ${longest_ms:-0} <= 1000)) && break
		grep -qs "retry exceeded" "$work/out" "$work/perf" "$work/recv" || break
		echo "the link was down for $longest_ms ms: once more"
	done
}
flap transfer "$work/long" 10.55.1.1 10.55.1.2
flap perf 10.55.1.1 10.55.1.2 --op send --bw --size 64K --iterations 5000
flap perf 10.55.1.1 10.55.1.2 --op read --bw --size 64K --iterations 5000

# 6. A peer that is not there is an error, and not a hang.
start "$work/recv" "$there" 10.55.1.2 recv --nic soft0 --listen 10.55.1.2:18601 "$work"
(on "$here" 127.0.0.1 send --nic soft0 --to 127.0.0.1:18601 "$work/file") >"$work/out" 2>&1 &&
	fail "sent to nobody"
stop

((failures == 0)) || echo "$failures failures"
exit $((failures != 0))
