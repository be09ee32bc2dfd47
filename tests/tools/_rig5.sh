# SPDX-License-Identifier: BSD-2-Clause
#
# To be sourced by the tests of `rig5 send` and `rig5 recv`: a place to work in, and a receiver that is
# started, asked for its port, and waited for.

rig5=${1:-$RIG5_BUILD_DIR}/rig5
work=$(mktemp -d)
receiver=
failures=0

clean_up() {
	if [[ -n $receiver ]]; then
		kill -KILL "$receiver"
		wait "$receiver"
	fi 2>/dev/null
	rm -rf "$work"
}
trap clean_up EXIT

fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# finish - the exit status of the test.
finish() {
	((failures == 0)) || echo "$failures failures"
	exit $((failures != 0))
}

# start_receiver <directory> [option]... - sets receiver and port.
start_receiver() {
	local dir=$1
	shift
	port=
	mkdir -p "$dir"
	rm -f "$work/recv.err" # the last one's port
	: >"$work/recv.err" # what an earlier receiver said is not what this one says
	"$rig5" recv --nic soft0 --listen 127.0.0.1:0 "$@" "$dir" >"$work/recv.out" \
		2>"$work/recv.err" &
	receiver=$!
	for ((i = 0; i < 500; i++)); do
		port=$(sed -n 's/^Listening on .* port \([0-9]*\),.*/\1/p' "$work/recv.err" \
			2>/dev/null)
		[[ -n $port ]] && return
		kill -0 "$receiver" 2>/dev/null || break
		sleep 0.01
	done
	cat "$work/recv.err"
	echo "FAILED: the receiver did not start"
	exit 1
}

# ended <pid> - true once it is a zombie, or gone.
ended() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	[[ ${stat##*) } == Z* ]]
}

# await <pid> - its exit status; if it does not end in 40 s, it is ended.
await() {
	for ((i = 0; i < 2000; i++)); do
		ended "$1" && break
		sleep 0.02
	done
	if ((i == 2000)); then
		fail "process $1 hung"
		kill -KILL "$1"
	fi
	wait "$1" 2>/dev/null
}

# end_receiver <status> - waits for it, and holds it to that exit status.
end_receiver() {
	await "$receiver"
	local status=$?
	receiver=
	((status == $1)) && return
	cat "$work/recv.err"
	fail "the receiver ended with $status, not $1"
}

# send <status> <argument>... - runs a sender to the receiver, and holds it to that exit status.
send() {
	local wanted=$1
	shift
	timeout 50 "$rig5" send --nic soft0 --to "127.0.0.1:$port" "$@" >"$work/send.out" \
		2>"$work/send.err"
	local status=$?
	((status == wanted)) && return
	cat "$work/send.err" "$work/recv.err"
	fail "the sender of $* ended with $status, not $wanted"
}

# says <file> <text> - the text has to be in it.
says() {
	grep -qF -- "$2" "$1" && return
	cat "$1"
	fail "'$2' is not in ${1##*/}"
}

# nothing_in <directory> - not even a hidden file.
nothing_in() {
	local left
	left=$(ls -A "$1")
	[[ -z $left ]] || fail "left in ${1##*/}: $left"
}
