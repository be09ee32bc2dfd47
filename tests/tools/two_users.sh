#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that two users of one host have ports of their own: the second one's default is at the next
# free address, or LID; an address, or LID, that both name is refused to the second with a sentence,
# as is one whose UDP port somebody holds, as a loaded rdma_rxe would.
# By running the commands as root and, through setpriv, as nobody, in a network namespace of their
# own. Skipped if that is not possible.
set -u
if [[ -z ${TWO_USERS_INSIDE:-} ]]; then
	[[ $(id -u) == 0 ]] && command -v setpriv unshare ip >/dev/null || exit 77
	unshare -n true 2>/dev/null || exit 77
	TWO_USERS_INSIDE=1 exec unshare -n bash "$0" "$@"
fi
. "$RIG5_SOURCE_DIR/tests/tools/_rig5.sh"
ip link set lo up
unset RIG5_SOFT

# Where nobody can run it, whatever the build directory's rights.
chmod 711 "$work"
install -m 755 "$rig5" "$work/rig5"
nobody() {
	timeout 50 setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
}
# address_of <file> - of the only NIC of `rig5 devices --json`, or why it cannot be opened.
address_of() {
	sed -n 's/.*"\(address\|error\)": "\([^"]*\)".*/\2/p' "$1"
}

# 1. Without an address: root's port, held by a receiver, is at 127.0.0.1, nobody's at 127.0.0.2.
# Each works, at the same time.
start_receiver "$work/out"
"$rig5" devices --json >"$work/root" || fail "devices"
nobody "$work/rig5" devices --json >"$work/nobody" || fail "nobody's devices"
[[ $(address_of "$work/root") == 127.0.0.1 ]] || fail "root is at $(address_of "$work/root")"
[[ $(address_of "$work/nobody") == 127.0.0.2 ]] || fail "nobody is at $(address_of "$work/nobody")"
nobody "$work/rig5" perf --nic soft0 --op write --lat --size 64 --iterations 50 --check \
	>"$work/perf" 2>&1 || fail "nobody's perf: $(cat "$work/perf")"
head -c 100000 /dev/urandom >"$work/file"
send 0 "$work/file"
end_receiver 0
cmp "$work/file" "$work/out/file" || fail "the copy"

# 2. The same of InfiniBand.
export RIG5_SOFT='soft0,ll=ib'
start_receiver "$work/ib"
"$rig5" devices --json >"$work/root" || fail "devices"
nobody "$work/rig5" devices --json >"$work/nobody" || fail "nobody's devices"
[[ $(address_of "$work/root") == "LID 1" ]] || fail "root is at $(address_of "$work/root")"
[[ $(address_of "$work/nobody") == "LID 2" ]] || fail "nobody is at $(address_of "$work/nobody")"

# 3. A LID, or an address, that both name.
RIG5_SOFT='soft0,ll=ib,lid=1' nobody "$work/rig5" devices >"$work/refused" 2>&1 &&
	fail "nobody got root's LID"
says "$work/refused" "LID 1 belongs to a port of another user; choose another LID"
kill -TERM "$receiver"
await "$receiver"
export RIG5_SOFT='soft0,addr=127.0.0.77'
start_receiver "$work/named"
nobody "$work/rig5" devices >"$work/refused" 2>&1 && fail "nobody got root's address"
says "$work/refused" "127.0.0.77 belongs to a port of another user; choose another address"
nobody "$work/rig5" send --nic soft0 --to "127.0.0.1:$port" "$work/rig5" >"$work/refused" 2>&1 &&
	fail "nobody sent on root's port"
says "$work/refused" "127.0.0.77 belongs to a port of another user"
# It was not disturbed.
send 0 "$work/file"
end_receiver 0

# 4. An address whose RoCE port somebody holds.
python3 -c '
import socket, time
holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
holder.bind(("127.0.0.78", 4791))
print("bound", flush=True)
time.sleep(40)
' >"$work/holder" &
holder=$!
for ((i = 0; i < 500; i++)); do
	[[ -s $work/holder ]] && break
	sleep 0.01
done
RIG5_SOFT='soft0,addr=127.0.0.78' "$rig5" devices >"$work/refused" 2>&1 && fail "a held address"
says "$work/refused" "UDP port 4791 of 127.0.0.78 is taken: unload rdma_rxe"
kill "$holder"
wait "$holder" 2>/dev/null
RIG5_SOFT='soft0,addr=127.0.0.78' "$rig5" devices >"$work/free" || fail "the address is free again"
finish
