#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# demo.sh <build directory> - two processes on the software NIC: one sends the largest file under
# /usr/lib to the other by RDMA, sha256sum looks at the copy, and a short table shows what the NIC does.
# Leaves nothing behind. Exit status 1 if anything was not as it should be.
set -u

rig5=${1:?usage: demo.sh <build directory>}/rig5
work=$(mktemp -d)
receiver=
clean_up() {
	[[ -n $receiver ]] && kill "$receiver" 2>/dev/null
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

fail() {
	echo "demo: $*" >&2
	exit 1
}

# The software NIC, also where there is hardware.
nic=(--nic soft0)

echo "== The NICs of this machine"
"$rig5" devices || fail "no NIC can be used"

# Sizes as du sees them would count blocks; %s is the length. Files that vanish meanwhile are no error.
file=$(find /usr/lib -type f -readable -printf '%s %p\n' 2>/dev/null | sort -rn | head -n 1 |
	cut -d' ' -f2-)
[[ -n $file ]] || fail "no file under /usr/lib"

echo
echo "== Copying $file ($(stat -c %s "$file") bytes) between two processes"
mkdir "$work/received"
"$rig5" recv "${nic[@]}" --listen 127.0.0.1:0 "$work/received" \
	>"$work/digests" 2>"$work/log" &
receiver=$!
for ((i = 0; i < 100; i++)); do
	port=$(sed -n 's/^Listening on .* port \([0-9]*\),.*/\1/p' "$work/log")
	[[ -n $port ]] && break
	kill -0 "$receiver" 2>/dev/null || break
	sleep 0.05
done
if [[ -z $port ]]; then
	cat "$work/log" >&2
	fail "the receiver did not start"
fi

"$rig5" send "${nic[@]}" --to "127.0.0.1:$port" "$file" >"$work/sent" || fail "the sender failed"
wait "$receiver"
status=$?
receiver=
if ((status != 0)); then
	cat "$work/log" >&2
	fail "the receiver failed"
fi

echo
echo "== Checking the copy with sha256sum"
(cd "$work/received" && sha256sum --check "$work/digests") || fail "the copy is not the file"
cmp "$file" "$work/received/${file##*/}" || fail "the copy is not the file"
rm -rf "$work/received"

echo
echo "== What the software NIC does between two processes"
"$rig5" perf "${nic[@]}" --op send --lat --size 8,4K,64K || fail "perf failed"
"$rig5" perf "${nic[@]}" --op write --bw --size 64K,1M || fail "perf failed"
echo
echo "Done. '$rig5 --help' shows what else there is, README.md how to go on."
