#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that a transfer that must not be is refused by both sides with a reason, and leaves nothing
# behind: existing files, too large, unusable names, files that are none. By trying each.
set -u
. "$RIG5_SOURCE_DIR/tests/tools/_rig5.sh"

head -c 3000 /dev/urandom >"$work/file"

# 1. A file that exists is left alone, also when it is a link out of the directory.
mkdir "$work/out"
printf mine >"$work/out/file"
start_receiver "$work/out"
send 1 "$work/file"
end_receiver 1
says "$work/send.err" "'file' exists"
says "$work/recv.err" "'file' exists"
[[ $(cat "$work/out/file") == mine ]] || fail "the existing file was changed"

mkdir "$work/link"
printf mine >"$work/outside"
ln -s ../outside "$work/link/file"
start_receiver "$work/link"
send 1 "$work/file"
end_receiver 1
[[ $(cat "$work/outside") == mine ]] || fail "a link led out of the directory"
start_receiver "$work/link" --force
send 0 "$work/file"
end_receiver 0
[[ $(cat "$work/outside") == mine ]] || fail "with --force a link led out of the directory"
[[ ! -L $work/link/file ]] || fail "with --force the link was not replaced"

# 2. More than the limit, in one file or together.
start_receiver "$work/size" --max-size 2999
send 1 "$work/file"
end_receiver 1
says "$work/send.err" "over the limit"
cp "$work/file" "$work/second"
start_receiver "$work/size" --max-size 5K
send 1 "$work/file" "$work/second"
end_receiver 1
says "$work/send.err" "over the limit"
nothing_in "$work/size"
truncate -s 1000T "$work/sparse" 2>/dev/null || truncate -s 15T "$work/sparse"
start_receiver "$work/size" --max-size 10000T
send 1 "$work/sparse"
end_receiver 1
says "$work/send.err" "does not fit"
nothing_in "$work/size"

# 3. What a sender refuses by itself, without a receiver.
port=1
mkdir "$work/dir" "$work/other"
mkfifo "$work/fifo"
printf x >"$work/other/file"
printf x >"$work/new
line"
send 1 "$work/none"
says "$work/send.err" "No such file"
send 1 "$work/dir"
says "$work/send.err" "not a regular file"
send 1 "$work/fifo"
says "$work/send.err" "not a regular file"
send 1 "$work/new
line"
says "$work/send.err" "control character"
printf x >"$work/"$'red\e[31m'
send 1 "$work/"$'red\e[31m'
says "$work/send.err" "red?[31m"
send 1 "$work/file" "$work/other/file"
says "$work/send.err" "two files would be named 'file'"
send 1 "$work/file"
says "$work/send.err" "cannot connect"
if (($(id -u) != 0)); then
	chmod 0 "$work/second"
	send 1 "$work/second"
	says "$work/send.err" "Permission denied"
fi

# 4. A receiver whose directory is none.
for dir in "$work/none" "$work/file"; do
	timeout 10 "$rig5" recv --nic soft0 --listen 127.0.0.1:0 "$dir" 2>"$work/recv.err"
	(($? == 1)) || fail "a receiver into ${dir##*/} did not fail"
	says "$work/recv.err" "cannot open directory"
done

# 5. A NIC that is none, a port that is taken.
timeout 10 "$rig5" recv --nic soft9 "$work/out" 2>"$work/recv.err"
(($? == 1)) || fail "a receiver on no NIC did not fail"
says "$work/recv.err" "soft9"
start_receiver "$work/size"
timeout 10 "$rig5" recv --nic soft0 --listen "127.0.0.1:$port" "$work/out" 2>"$work/second.err"
(($? == 1)) || fail "two receivers on one port"
says "$work/second.err" "cannot listen"
finish
