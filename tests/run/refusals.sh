#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that what cannot be run is refused with a sentence that says why, and that wrong words about
# NICs are. By small programs of each kind, and command lines.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need cc

# says <status> <pattern> <argument of rig5 run>... - one line on stderr.
says() {
	local wanted=$1 pattern=$2 status
	shift 2
	timeout 30 "$rig5" run "$@" >"$work/client" 2>"$work/server"
	status=$?
	((status == wanted)) && grep -Eq -- "$pattern" "$work/server" && return 0
	echo "ended with $status" >>"$work/server"
	return 1
}

# quiet <argument of rig5 run>... - runs, and nothing is said, but for what the system refuses.
quiet() {
	timeout 30 "$rig5" run "$@" >"$work/client" 2>"$work/server" &&
		! grep -v 'userfaultfd is refused' "$work/server"
}

# late - where userfaultfd is refused, one sentence says so.
late() {
	timeout 30 "$build/tests/deny" env -u XDG_RUNTIME_DIR \
		"$rig5" run -- sh -c true >"$work/client" 2>"$work/server" || return 1
	(($(grep -c 'userfaultfd is refused here: .* up to 10 ms late$' "$work/server") == 1)) &&
		(($(wc -l <"$work/server") == 1))
}

cat >"$work/true.c" <<'END'
int main(void) { return 0; }
END
cat >"$work/loads.c" <<'END'
#include <dlfcn.h>
int main(void) { return !dlopen("libc.so.6", RTLD_NOW); }
END
cc "$work/true.c" -o "$work/true" && cc -static "$work/true.c" -o "$work/static" &&
	cc "$work/loads.c" -o "$work/loads" || fail "no programs to try"
printf '#!%s\n' "$work/static" >"$work/script"
chmod +x "$work/script"
cp "$work/true" "$work/other_machine"
printf '\x02\x00' | dd of="$work/other_machine" bs=1 seek=18 conv=notrunc status=none

try "a static program" says 1 'static .*: it is statically linked' -- "$work/static"
try "a script of a static interpreter" says 1 'statically linked' -- "$work/script"
try "another machine's program" says 1 'another kind of processor' -- "$work/other_machine"
try "no such program" says 1 'no-such-program: there is no such program' -- no-such-program
try "a program without use for a NIC runs, with a word about it" \
	says 0 "is not linked with libibverbs, .*: it sees the software NIC's files" -- "$work/true"
try "one that loads libraries runs without" quiet -- "$work/loads"
try "a shell runs without" quiet -- sh -c true
if "$build/tests/deny" test -x "$rig5"; then
	try "a word where userfaultfd is refused" late
fi
if (($(id -u) == 0)); then
	cp "$work/true" "$work/setuid"
	chown nobody "$work/setuid" && chmod u+s "$work/setuid"
	try "a setuid program" says 1 'setuid' -- "$work/setuid"
	cp "$work/true" "$work/setgid"
	chgrp nogroup "$work/setgid" && chmod g+s "$work/setgid"
	try "a setgid program" says 1 'setuid or setgid' -- "$work/setgid"
fi

try "an unknown key" says 1 '^rig5 run: --nic: key "speed" is unknown' --nic speed=3 -- sh
try "two names" says 1 '^rig5 run: --nic: there are two NICs called a' \
	--nic a,addr=127.0.0.5 --nic a,addr=127.0.0.6 -- sh
try "a foreign address" says 1 'is not an address of this machine' --nic addr=192.0.2.99 -- sh
try "no NUMA node" says 1 'has no NUMA node 1023' --nic addr=127.61.2.1,numa=1023 -- sh
try "a wrong NUMA node" says 1 'numa=x is not a NUMA node' --nic numa=x -- sh
try "two NICs in one option" says 2 'takes one NIC' --nic 'a;b' -- sh
nine=()
for i in 1 2 3 4 5 6 7 8 9; do
	nine+=(--nic "addr=127.61.2.$i")
done
try "nine NICs" says 2 'more than 8 NICs' "${nine[@]}" -- sh
try "no program" says 2 'a program is missing'
RIG5_SOFT='soft0,colour=red' try "wrong words in RIG5_SOFT" \
	says 1 '^rig5 run: RIG5_SOFT: key "colour"' -- sh
RIG5_SOFT='' try "no NIC" says 1 'RIG5_SOFT is set to nothing' -- sh
no_trees
finish
