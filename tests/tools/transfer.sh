#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that `rig5 send` and `rig5 recv` copy files byte for byte, and say so with sha256sum's digests.
# By copying files of many sizes between two processes and comparing.
set -u
. "$RIG5_SOURCE_DIR/tests/tools/_rig5.sh"

# 1. Sizes around the chunk (256 KiB) and the slots (16), one file each, in one transfer.
mkdir "$work/in"
for size in 0 1 7 4095 4097 262143 262144 262145 524288 4194304 4194305 9999999; do
	head -c $size /dev/urandom >"$work/in/file $size"
done
chmod 751 "$work/in/file 7"
start_receiver "$work/out"
send 0 "$work/in"/*
end_receiver 0
diff -r "$work/in" "$work/out" || fail "the copies differ"
(cd "$work/out" && sha256sum --quiet --check "$work/recv.out") || fail "the receiver's digests"
(cd "$work/in" && sha256sum --quiet --check "$work/send.out") || fail "the sender's digests"
(($(wc -l <"$work/recv.out") == 12)) || fail "not one digest for each file"
[[ $(stat -c %a "$work/out/file 7") == "$(printf '%o' $((0751 & ~$(umask))))" ]] || fail "its mode"
says "$work/send.err" "Sent 12 files"
says "$work/recv.err" "Received 12 files"

# 2. One empty file, alone.
start_receiver "$work/empty"
send 0 "$work/in/file 0"
end_receiver 0
[[ -e "$work/empty/file 0" && ! -s "$work/empty/file 0" ]] || fail "no empty file"

# 3. Many small files: more than the receiver has open at a time.
mkdir "$work/many"
for ((i = 0; i < 300; i++)); do
	head -c $((i % 7 * 100)) /dev/urandom >"$work/many/$i"
done
start_receiver "$work/many.out"
send 0 "$work/many"/*
end_receiver 0
diff -r "$work/many" "$work/many.out" || fail "the copies of many files differ"

# 4. --keep takes one sender after the other, until a signal; --quiet says only the digests.
start_receiver "$work/keep" --keep --quiet
send 0 --quiet "$work/in/file 7"
[[ -s $work/send.err ]] && fail "--quiet printed: $(cat "$work/send.err")"
send 1 "$work/in/file 7"
says "$work/send.err" "exists"
send 0 "$work/in/file 4095"
kill -TERM "$receiver"
end_receiver 143
cmp "$work/in/file 4095" "$work/keep/file 4095" || fail "the second sender's file"

# 5. Many transfers, one after the other: each time the receiver's queue pair goes as soon as it has
# said DONE, sometimes before it has acknowledged the last chunk. One in twenty failed of that.
start_receiver "$work/again" --keep --quiet --force
for ((i = 0; i < 40; i++)); do
	send 0 --quiet "$work/in/file 7"
done
kill -TERM "$receiver"
end_receiver 143

# 6. --sync, --force, a name that looks like an option, and one that is not ASCII.
printf new >"$work/-n"
printf umlaut >"$work/gr\xc3\xbc\xc3\x9fe"
mkdir "$work/force"
printf old >"$work/force/-n"
start_receiver "$work/force" --sync --force
send 0 -- "$work/-n" "$work/gr\xc3\xbc\xc3\x9fe"
end_receiver 0
[[ $(cat "$work/force/-n") == new ]] || fail "--force did not replace"
nothing=$(find "$work" -name '.rig5-*')
[[ -z $nothing ]] || fail "left behind: $nothing"
finish
