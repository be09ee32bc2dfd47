#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that the commands work over an InfiniBand port: devices names its LID, send and recv copy
# files, perf measures and checks every byte.
# By running them on a software NIC with ll=ib.
set -u
. "$RIG5_SOURCE_DIR/tests/tools/_rig5.sh"

lid=$((0x2000 + $$ % 0x8000))
ethernet=${RIG5_SOFT:-soft0}
export RIG5_SOFT="soft0,ll=ib,lid=$lid"

# 1. What there is.
"$rig5" devices >"$work/table" || fail "devices"
grep -q "^soft0 .* InfiniBand .*active .*LID $lid " "$work/table" || {
	cat "$work/table"
	fail "no LID in the table"
}
"$rig5" devices --json >"$work/json" || fail "devices --json"
says "$work/json" '"link": "infiniband"'
says "$work/json" "\"address\": \"LID $lid\""

# 2. Files.
mkdir "$work/in"
for size in 0 1 4096 262145 4194305; do
	head -c $size /dev/urandom >"$work/in/file $size"
done
start_receiver "$work/out"
send 0 "$work/in"/*
end_receiver 0
diff -r "$work/in" "$work/out" || fail "the copies differ"

# 3. Every operation that perf measures, each byte checked.
timeout 50 "$rig5" perf --nic soft0 --check --iterations 20 >"$work/perf" 2>&1 || {
	cat "$work/perf"
	fail "perf"
}
(($(grep -c ' ok$' "$work/perf") >= 30)) || fail "perf checked too little"

# 4. Peers of the two link layers find out before anything is sent.
start_receiver "$work/none"
RIG5_SOFT=$ethernet send 1 "$work/in/file 1"
says "$work/send.err" "link layer"
kill -TERM "$receiver"
await "$receiver"
receiver=
finish
