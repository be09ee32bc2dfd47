#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that a transfer that is cut short leaves no file, whole or partial, and that the other side says
# so and ends with status 1: sender or receiver killed or interrupted, a file that changes.
# By doing each to a transfer of seconds, once bytes have arrived.
set -u
. "$RIG5_SOURCE_DIR/tests/tools/_rig5.sh"

# Sparse: it takes seconds to send, and no time to make.
truncate -s 4G "$work/large"

start_sender() {
	"$rig5" send --nic soft0 --to "127.0.0.1:$port" "$work/large" >"$work/send.out" \
		2>"$work/send.err" &
	sender=$!
	# Until bytes have arrived: a nameless file that grows is seen among the receiver's descriptors.
	for ((i = 0; i < 1000; i++)); do
		for fd in /proc/"$receiver"/fd/*; do
			[[ $(readlink "$fd") == *deleted* && $(stat -L -c %s "$fd") -gt 0 ]] && return
		done
		sleep 0.01
	done
	fail "nothing arrived"
}

end_sender() {
	await "$sender"
	local status=$?
	((status == $1)) || {
		cat "$work/send.err"
		fail "the sender ended with $status, not $1"
	}
}

for signal in KILL TERM INT; do
	number=$(kill -l $signal)
	# SIGINT is ignored in what a shell starts in the background.
	[[ $signal == INT ]] && continue

	start_receiver "$work/out"
	start_sender
	kill -$signal "$sender"
	end_sender $((128 + number))
	end_receiver 1
	says "$work/recv.err" "the sender"
	nothing_in "$work/out"

	start_receiver "$work/out"
	start_sender
	kill -$signal "$receiver"
	end_receiver $((128 + number))
	end_sender 1
	says "$work/send.err" "the receiver"
	nothing_in "$work/out"
done

# The receiver cannot write any more: here at a limit on the size of files, as on a full disk.
head -c 3000000 /dev/zero >"$work/medium"
start_receiver "$work/out"
prlimit --fsize=1000000 --pid "$receiver"
send 1 "$work/medium"
end_receiver 1
says "$work/recv.err" "cannot write at byte"
says "$work/send.err" "the receiver says: medium: cannot write at byte"
nothing_in "$work/out"

# A file that changes while it is read.
start_receiver "$work/out"
start_sender
truncate -s 10 "$work/large"
end_sender 1
end_receiver 1
says "$work/send.err" "changed while it was read"
says "$work/recv.err" "changed while it was read"
nothing_in "$work/out"
finish
