#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that programs may end, fork and close descriptors as they like, and leave nothing behind. By
# a program (life.c) that does each, and a look at folders and processes afterwards.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
life=$build/tests/run_life
[[ -x $life ]] || { echo "skipped: built without libibverbs"; exit 77; }

# ends <status> <mode>
ends() {
	timeout -k 1 20 "$rig5" run -- "$life" "$2" >"$work/client" 2>&1
	local status=$?
	((status == $1)) || echo "ended with $status" >>"$work/client"
	((status == $1))
}
for mode in return exit _exit free fork fork_exit vfork close_each close_at_once \
	poll_after_close dup channel_dup main_ends main_ends_late; do
	try "$mode" ends 0 "$mode"
done
# The sanitizer takes most of such a stack for itself.
[[ ${RIG5_SANITIZE:-} ]] || try "little_stack_late" ends 0 little_stack_late
if ((EUID == 0)); then
	chmod 711 "$work"
	try "nobody" ends 0 nobody
	try "nobody_late" ends 0 nobody_late
fi

# A daemon's run lasts as long as the daemon, though it has closed all that it inherited.
cd "$work" || exit 1
try "daemon_late" ends 0 daemon_late
for ((i = 0; i < 200; i++)); do
	grep -qs good daemon && break
	sleep 0.05
done
grep -qs good daemon || fail "a daemon finds no device"
no_trees
ulimit -c 0
try "abort" ends 134 abort

# Killed with live objects; `rig5 run` is the program by then, so its number is the one to kill.
"$rig5" run -- "$life" stay >"$work/ready" 2>"$work/client" &
victim=$!
for ((i = 0; i < 200; i++)); do
	grep -qs ready "$work/ready" && break
	sleep 0.05
done
grep -q ready "$work/ready" || fail "the program to be killed did not start"
[[ $(readlink "/proc/$victim/exe") == "$(realpath "$life")" ]] || fail "the program is a child"
kill -9 "$victim"
wait "$victim" 2>/dev/null
((i < 200)) && try "the next program on the port of a killed one" ends 0 return

no_trees

rm "$work/ready"
# A tree whose keeper was killed is removed by the next run.
"$rig5" run -- "$life" stay >"$work/ready" 2>"$work/client" &
victim=$!
for ((i = 0; i < 200; i++)); do
	grep -qs ready "$work/ready" && break
	sleep 0.05
done
tree=$(tr '\0' '\n' <"/proc/$victim/environ" | sed -n 's/^RIG5_RUN=//p')
for pid in /proc/[0-9]*; do
	[[ $(cat "$pid/comm" 2>/dev/null) == rig5-keeper ]] &&
		find "$pid/fd" -lname "$tree/lock" 2>/dev/null | grep -q . && kill -9 "${pid#/proc/}"
done
kill -9 "$victim"
wait "$victim" 2>/dev/null
[[ -d $tree ]] || fail "the killed keeper's tree is not there: nothing to sweep"
timeout 20 flock "$tree/lock" true # until the killed keeper is gone
ends 0 return
# Each run sweeps what ended ones left behind; it must leave alone what another is only making.
several() {
	local i
	for ((i = 0; i < 40; i++)); do
		"$rig5" run -- true >/dev/null 2>&1 || return 1
	done
}
at_once() {
	local worker jobs=() bad=0
	for worker in 1 2 3 4 5 6 7 8; do
		several &
		jobs+=($!)
	done
	for worker in "${jobs[@]}"; do
		wait "$worker" || bad=1
	done
	return $bad
}
try "runs that begin and end at once" at_once
no_trees
finish
