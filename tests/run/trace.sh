#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows what `rig5 run --trace` prints: verbs, entries, receives and completions of a program that
# does well, and why something failed, on both sides, of one that does not (faults.c). By looking
# for the lines.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ibv_rc_pingpong
faults=$build/tests/run_faults
[[ -x $faults ]] || { echo "skipped: built without libibverbs"; exit 77; }
trace=$work/trace
line_start='^ *[0-9]+\.[0-9]{6} [0-9]+ mlx5_0 '
hex='0x[0-9a-f]+'

# has <pattern> - a line of the trace, after the time, the process and the NIC, is all that.
has() {
	grep -Eq "$line_start$1\$" "$trace" || fail "${name:-}: no line with: $1"
}

# well_formed - each line of the trace is whole, and shorter than 200 characters.
well_formed() {
	[[ -s $trace ]] || fail "${name:-}: no trace"
	grep -Evq "$line_start[A-Za-z]" "$trace" && fail "${name:-}: a line that is none"
	awk 'length >= 200 { bad = 1 } END { exit bad }' "$trace" || fail "${name:-}: a long line"
}

# ---- a ping-pong, both ends into one file

name=pingpong
run_options=(--trace="$trace")
try "a ping-pong is traced" pair ibv_rc_pingpong -g 0 -n 100 -s 64
well_formed
has "ALLOC_PD -> 0 pdn $hex"
has "REG_MR pdn $hex addr $hex len 64 iova $hex access 0x1 -> 0 key $hex"
has "CREATE_CQ cqe [0-9]+ -> 0 cqn $hex"
has "CREATE_QP pdn $hex send_cq $hex recv_cq $hex type RC .*-> 0 qpn $hex"
has "MODIFY_QP qpn $hex state RTR dest_qpn $hex .*-> 0"
has "wqe  SEND index 0 qpn $hex ds 2 signal \| 64 bytes lkey $hex va $hex"
has "recv RECV index 99 qpn $hex \| 64 bytes lkey $hex va $hex"
has "cqe  cqn $hex: REQ owner 0 qpn $hex counter 99 of SEND bytes 64"
has "cqe  cqn $hex: RESP_SEND owner 0 qpn $hex counter 99 bytes 64"
has "DESTROY_QP qpn $hex -> 0"
for what in 'wqe  SEND' 'recv RECV' 'cqe .* REQ' 'cqe .* RESP_SEND'; do
	[[ $(grep -Ec "$line_start$what" "$trace") == 200 ]] || fail "$name: not 200 of $what"
done
[[ $(awk '{ print $2 }' "$trace" | sort -u | wc -l) == 2 ]] || fail "$name: not two processes"

# ---- over DC, where an entry names its target

if command -v ib_send_lat >/dev/null; then
	name=DC
	rm -f "$trace"
	try "DC is traced" pair ib_send_lat -c DC -x 0 -n 20 -s 64 -I 0
	well_formed
	has "CREATE_SRQ pdn $hex -> 0 srqn $hex"
	has "CREATE_QP pdn $hex srqn $hex .* type DRIVER .*-> 0 qpn $hex"
	has "MODIFY_QP_EX qpn $hex state INIT access $hex mask $hex -> 0"
	to="to dct $hex key $hex gid [0-9a-f]{32}"
	has "wqe  SEND index [0-9]+ qpn $hex ds 5 signal \| $to \| 64 bytes lkey $hex va $hex"
	has "cqe  cqn $hex: REQ owner [01] qpn $hex counter [0-9]+ of SEND bytes 64.*"
	has "cqe  cqn $hex: RESP_SEND owner [01] .*bytes 64.*"
	[[ $(grep -Ec "${line_start}wqe  SEND" "$trace") == 40 ]] || fail "$name: not 40 of SEND"

	# The target's process is killed while its peer writes.
	name="DC without a peer"
	rm -f "$trace"
	port=$(free_port)
	writes=(ib_write_bw -c DC -x 0 -D 20 -s 64 -p "$port")
	"$rig5" run -- "${writes[@]}" >"$work/server" 2>&1 &
	server=$!
	await_listener "$port"
	timeout 60 "$rig5" run --trace="$trace" -- "${writes[@]}" 127.0.0.1 >"$work/client" 2>&1 &
	client=$!
	for ((i = 0; i < 100; i++)); do
		grep -Eq "${line_start}cqe .* of WRITE" "$trace" 2>/dev/null && break
		sleep 0.1
	done
	kill -9 "$server"
	wait "$server" "$client" 2>/dev/null
	well_formed
	has "fail qpn $hex WRITE index [0-9]+: retry exceeded: no answer to 64 bytes at .*, tried 8 .*"
	has "cqe  cqn $hex: REQ_ERR .* of WRITE: retry exceeded, vendor 0x81, IBV_WC_RETRY_EXC_ERR"
	((failures == 0)) && echo "ok: $name"
fi

# ---- what goes wrong, a process for each side

# faulty <what> <status> <sentence of the responder, ''> <sentence of the requester>
faulty() {
	name=$1
	rm -f "$trace"
	timeout 30 "$rig5" run --trace="$trace" -- "$faults" "$1" \
		>"$work/client" 2>"$work/server" ||
		fail "$1: ended with $?: $(cat "$work/client" "$work/server")"
	[[ $(cat "$work/client") == "$2" ]] || fail "$1: status $(cat "$work/client"), not $2"
	well_formed
	[[ -z $3 ]] || has "$3"
	has "$4"
	((failures == 0)) && echo "ok: $1"
}

access="deny qpn $hex: remote access error:"
said_no="remote access error: the peer said no to 64 bytes at $hex, key $hex"
range="names \[$hex, $hex\)"
faulty bad_key 10 "$access there is no key $hex; the request wanted 64 bytes at $hex" \
	"fail qpn $hex WRITE index 0: $said_no"
faulty out_of_range 10 "$access key $hex $range; the request wanted 64 bytes at end \+ 8" \
	"fail qpn $hex WRITE index 0: $said_no"
faulty too_long 10 "$access key $hex $range; the request wanted 64 bytes at $hex, 8 too many" \
	"fail qpn $hex READ index 0: $said_no"
faulty no_write 10 \
	"$access key $hex $range without remote write; the request wanted 64 bytes at $hex" \
	"cqe  cqn $hex: REQ_ERR .* of WRITE: remote access error, vendor 0x88, IBV_WC_REM_ACCESS_ERR"
faulty no_atomic 10 \
	"$access key $hex $range without remote atomic; the request wanted 8 bytes at $hex" \
	"fail qpn $hex ATOMIC_FA index 0: remote access error: the peer said no to 8 bytes at .*"
faulty qp_no_write 9 \
	"deny qpn $hex: remote invalid request: the queue pair does not let its peer write .*" \
	"fail qpn $hex WRITE index 0: remote invalid request: the peer said no to 64 bytes at .*"
faulty local_key 4 "" \
	"fail qpn $hex SEND index 0: local protection error: there is no key $hex; the entry .*"
faulty local_write 4 "" \
	"fail qpn $hex READ index 0: local protection error: key $hex $range without local write; .*"
faulty no_receive 13 "deny qpn $hex: receiver not ready: no receive is posted" \
	"fail qpn $hex SEND index 0: RNR retry exceeded: the peer had no receive .* tried 3 times"
faulty deaf 12 "deny qpn $hex: dropped: the queue pair is in no state to take it" \
	"fail qpn $hex SEND index 0: retry exceeded: no answer to 64 bytes, tried 2 times; .*"
faulty short_receive 9 \
	"fail qpn $hex RECV index 0: local length error: the message has 64 bytes or more, the receive 16" \
	"fail qpn $hex SEND index 0: remote invalid request: the peer said no to 64 bytes"

# ---- where it goes

name="standard error"
timeout 30 "$rig5" run --trace -- "$faults" bad_key >"$work/client" 2>"$work/error"
grep -v '^rig5' "$work/error" >"$trace" # what the command itself has to say
well_formed
has "$access there is no key .*"
[[ $(cat "$work/client") == 10 ]] || fail "the program's own output: $(cat "$work/client")"

# A reader that goes away does not end the program.
timeout 30 "$rig5" run --trace -- "$faults" bad_key 2>&1 >"$work/client" | head -n 1 >/dev/null
[[ ${PIPESTATUS[0]} == 0 ]] || fail "ended with its trace's reader"
[[ $(cat "$work/client") == 10 ]] || fail "without a reader: $(cat "$work/client")"

# A file of the program's that has got the trace's number stays the program's.
name="another file"
timeout 30 "$rig5" run --trace="$trace" -- "$faults" bad_key "$trace" "$work/other" \
	>"$work/client" 2>"$work/server"
[[ $(cat "$work/client") == 10 ]] || fail "$name: $(cat "$work/client")"
[[ -f $work/other && ! -s $work/other ]] || fail "$name was written to: $(cat "$work/other")"

timeout 30 "$rig5" run --trace="$work/none/trace" -- true 2>"$work/client"
[[ $? == 1 ]] || fail "a trace that cannot be written"
grep -q "cannot trace to .*: No such file or directory" "$work/client" || fail "without a sentence"

# Without --trace nothing is said.
timeout 30 "$rig5" run -- "$faults" bad_key >"$work/client" 2>&1
[[ $(grep -v '^rig5' "$work/client") == 10 ]] || fail "it talks though nobody asked: $(cat "$work/client")"

no_trees
finish
