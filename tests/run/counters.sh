#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that the files of hw_counters and counters have live values: those of all programs on the port,
# in whichever run, also of one that has ended; however a program opens them; and that `rig5 stats`
# sees a program under `rig5 run`. By reading them before, during and after ibv_rc_pingpong.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ibv_rc_pingpong python3

options=(--hide-real --nic "addr=127.61.9.$((BASHPID % 250 + 1))" --nic addr=127.61.10.1)
port=/sys/class/infiniband/mlx5_0/ports/1

# value <file below the port> - as cat in a run of its own reads it.
value() {
	timeout 60 "$rig5" run "${options[@]}" -- cat "$port/$1" 2>>"$work/errors"
}

# is <wanted> <got> <what>
is() {
	[[ $1 == "$2" ]] || fail "$3 is $2, not $1"
}

# Nobody there.
is 0 "$(value counters/port_xmit_packets)" "packets where nobody is"
is 0 "$(value hw_counters/out_of_sequence)" "a counter of trouble"
wanted=$(timeout 60 "$rig5" run "${options[@]}" -- ls "$port/hw_counters" | sort | md5sum)
is "$wanted" "$(timeout 60 "$rig5" run "${options[@]}" -- \
	ls /sys/class/infiniband/mlx5_1/ports/1/hw_counters | sort | md5sum)" "the other NIC's list"
value hw_counters/no_such_counter >"$work/none" 2>&1 && fail "a counter that is none can be read"

# A ping-pong that stays, so that its values can be read meanwhile.
tcp=$(free_port)
server_at=()
"$rig5" run "${options[@]}" -- ibv_rc_pingpong -p "$tcp" -d mlx5_0 -g 0 -n 1000000000 \
	>"$work/server" 2>&1 &
server=$!
await_listener "$tcp"
"$rig5" run "${options[@]}" -- ibv_rc_pingpong -p "$tcp" -d mlx5_0 -g 0 -n 1000000000 127.0.0.1 \
	>"$work/client" 2>&1 &
client=$!
moving=
for ((i = 0; i < 200; i++)); do
	[[ $(value counters/port_xmit_packets) -gt 100 ]] && moving=1 && break
	sleep 0.05
done
[[ $moving ]] || fail "no packet is counted: $(cat "$work/server" "$work/client")"

# They grow; each is a number; those of the other NIC stay.
before=$(value counters/port_rcv_packets)
sleep 0.2
after=$(value counters/port_rcv_packets)
((after > before)) || fail "port_rcv_packets went from $before to $after"
is 0 "$(timeout 60 "$rig5" run "${options[@]}" -- \
	cat /sys/class/infiniband/mlx5_1/ports/1/counters/port_rcv_packets)" "the other NIC's packets"

# All at once, by the other ways to open a file, and by the device's own path.
timeout 60 "$rig5" run "${options[@]}" -- python3 - "$port" >"$work/python" <<'END' || fail "python"
import os
import sys

port = sys.argv[1]
counts = {}
for folder in ("counters", "hw_counters"):
    for name in sorted(os.listdir(f"{port}/{folder}")):
        with open(f"{port}/{folder}/{name}", encoding="ascii") as file:
            counts[name] = int(file.read())
assert counts["port_xmit_packets"] > 0 and counts["port_rcv_data"] > 0, counts
assert counts["port_rcv_packets"] == counts["unicast_rcv_packets"] + counts["multicast_rcv_packets"] \
    or counts["unicast_rcv_packets"] > 0, counts
directory = os.open(f"{port}/counters", os.O_RDONLY)
first, second = (os.open("port_xmit_packets", os.O_RDONLY, dir_fd=directory) for _ in range(2))
assert int(os.read(second, 99)) >= int(os.read(first, 99)) > counts["port_xmit_packets"] - 1
path = os.path.realpath(f"{port}/counters/port_xmit_packets")
assert path.startswith("/sys/devices/"), path
with open(path, encoding="ascii") as file:
    assert int(file.read()) >= counts["port_xmit_packets"]
print("good")
END
is good "$(cat "$work/python")" "python's word"

# rig5 stats sees both programs.
"$rig5" stats mlx5_0 >"$work/table" || fail "rig5 stats"
[[ $(grep -c "of process .*ibv_rc_pingpong.*127.61.9" "$work/table") -ge 2 ]] ||
	fail "rig5 stats does not show the programs: $(cat "$work/table")"
grep -Eq '^  0x[0-9a-f]{6} RC +RTS +127\.61\.9\.' "$work/table" || fail "no queue pair in the table"

kill "$client" "$server"
wait "$client" "$server" 2>/dev/null

# Two that end by themselves, while a third keeps the port.
timeout 60 "$rig5" run "${options[@]}" -- python3 - >"$work/keeper" 2>&1 <<'END' &
import ctypes
import time

# A NIC that is open and idle.
verbs = ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_open_device.argtypes = [ctypes.c_void_p]
verbs.ibv_open_device.restype = ctypes.c_void_p
assert verbs.ibv_open_device(verbs.ibv_get_device_list(None)[0])
print("open", flush=True)
time.sleep(50)
END
for ((i = 0; i < 200; i++)); do
	grep -q open "$work/keeper" && break
	sleep 0.05
done
grep -q open "$work/keeper" || fail "the keeper: $(cat "$work/keeper")"
before=$(value counters/port_xmit_packets)
tcp=$(free_port)
"$rig5" run "${options[@]}" -- ibv_rc_pingpong -p "$tcp" -d mlx5_0 -g 0 -n 1000 >"$work/server" 2>&1 &
server=$!
await_listener "$tcp"
timeout 60 "$rig5" run "${options[@]}" -- ibv_rc_pingpong -p "$tcp" -d mlx5_0 -g 0 -n 1000 127.0.0.1 \
	>"$work/client" 2>&1 || fail "the client: $(cat "$work/client")"
wait "$server" || fail "the server: $(cat "$work/server")"
after=$(value counters/port_xmit_packets)
((after >= before + 2000)) ||
	fail "two programs that have ended sent $((after - before)) packets, not 2000 or more"
exit $((failures != 0))
