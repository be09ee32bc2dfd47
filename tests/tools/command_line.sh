#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that every command explains itself, that a wrong command line ends with status 2 and a hint, that
# output which cannot be written is a failure, and that tables fit a terminal. By running them.
set -u
. "$RIG5_SOURCE_DIR/tests/tools/_rig5.sh"

# expect <status> <argument>... - runs rig5, output in out and err.
expect() {
	local wanted=$1
	shift
	timeout 20 "$rig5" "$@" >"$work/out" 2>"$work/err" </dev/null
	local status=$?
	((status == wanted)) || fail "rig5 $* ended with $status, not $wanted: $(cat "$work/err")"
}

# 1. Help: on stdout, at most 80 columns, each option that getopt knows.
expect 0 --help
says "$work/out" "Usage: rig5 COMMAND"
commands=$(sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' "$work/out")
for command in devices recv send perf stats decode; do
	grep -qx "$command" <<<"$commands" || fail "rig5 --help does not list $command"
done
for command in $commands; do
	expect 0 "$command" --help
	says "$work/out" "Usage: rig5 $command"
	says "$work/out" "--help"
	[[ -s $work/err ]] && fail "rig5 $command --help writes to stderr"
	long=$(awk 'length > 80' "$work/out")
	[[ -z $long ]] || fail "rig5 $command --help is wider than 80 columns: $long"
	expect 2 "$command" --no-such-option
	says "$work/err" "rig5 $command: "
	says "$work/err" "rig5 $command --help"
	[[ -s $work/out ]] && fail "rig5 $command --no-such-option writes to stdout"
done
expect 0 --version
grep -qE '^rig5 [0-9]+\.[0-9]+\.[0-9]+$' "$work/out" || fail "rig5 --version: $(cat "$work/out")"

# 2. Wrong command lines.
expect 2
expect 2 nonsense
says "$work/err" "no command 'nonsense'"
while read -r line; do
	# shellcheck disable=SC2086
	expect 2 $line
	says "$work/err" "Try 'rig5 ${line%% *} --help'"
done <<'END'
devices extra
recv a b
recv --max-size x
recv --max-size -1
recv --max-size
recv --timeout 0
recv --listen :80
recv --listen h:99999
send
send --to h:0 file
send --to
send --timeout x file
perf extra
perf --op fly
perf --size 0
perf --size 65M
perf --size 1,,x
perf --iterations 0
perf --depth 0
perf --depth 9999999
perf --cpus a
perf --listen h --to h
END

# 3. Output that goes nowhere is no success.
for arguments in --help --version devices "devices --json" "perf --help"; do
	# shellcheck disable=SC2086
	"$rig5" $arguments >/dev/full 2>"$work/err"
	(($? == 1)) || fail "rig5 $arguments >/dev/full did not fail"
	says "$work/err" "cannot write"
done

# 4. Tables fit 80 columns, and no line ends with blanks.
for arguments in devices "perf --size 1M --iterations 9 --check"; do
	# shellcheck disable=SC2086
	expect 0 $arguments
	wrong=$(grep -nE '^.{81}| $' "$work/out")
	[[ -z $wrong ]] || fail "rig5 $arguments: wide, or blanks at the end: $wrong"
done

# 5. A receiver listens on loopback unless told otherwise; the port may be another's just now.
mkdir "$work/inbox"
"$rig5" recv --nic soft0 "$work/inbox" 2>"$work/err" &
for ((i = 0; i < 500; i++)); do
	grep -q . "$work/err" && break
	sleep 0.01
done
kill -TERM $! 2>/dev/null
wait
grep -qE '^(Listening|rig5 recv: cannot listen) on 127\.0\.0\.1 port [0-9]+' "$work/err" ||
	fail "rig5 recv: $(cat "$work/err")"

# 6. An absent NIC, by name.
expect 1 perf --nic soft9
says "$work/err" "soft9"
expect 1 perf --to "127.0.0.1:1"
says "$work/err" "cannot connect"
finish
