# SPDX-License-Identifier: BSD-2-Clause
"""Shows that the same unmodified programs, here under `rig5 run` and there on Linux's Soft-RoCE,
understand each other: ibv_rc_pingpong and perftest, each end once the client. By booting Debian's
kernel in QEMU as udp.py does, and letting its agent start the programs at its end.

    programs.py <build directory> [-v] [part of a row's name]
"""
import os
import shutil
import socket
import subprocess
import sys
import time

import _guest
import _tap

BOOT_S = 90
ROW_S = 60
HOST, GUEST = "10.77.0.1", "10.77.0.2"
PINGPONG_PORT, PERFTEST_PORT = 18515, 18600
# perftest times the processor first, and refuses to report where a busy machine made that uneven.
UNEVEN_CLOCK, TRIES = "Can't produce a report", 4

# A program and its words; -c of the ping-pong looks at every byte that comes back.
PINGPONGS = ["ibv_rc_pingpong -c -n 200 -s 3000 -m 1024", "ibv_rc_pingpong -e -n 200",
             "ibv_uc_pingpong -n 100", "ibv_ud_pingpong -n 100 -s 1024",
             "ibv_srq_pingpong -n 40 -q 4"]
PERFTESTS = ["ib_send_lat -n 200", "ib_send_bw -n 200 -s 16384", "ib_write_bw -n 200 -s 65536",
             "ib_read_bw -n 200 -s 16384 -o 4", "ib_read_lat -n 100 -o 4", "ib_atomic_bw -n 200 -o 4",
             "ib_atomic_lat -n 100 -o 4 -A CMP_AND_SWAP", "ib_send_bw -n 200 -s 4096 -b",
             "ib_send_bw -n 100 -q 4 -s 1024", "ib_send_lat -n 100 -c UC", "ib_write_bw -n 100 -c UC",
             "ib_send_bw -n 200 -c UD -s 1024"]


class Agent:
    """The guest's second serial line: one command a line, one answer to each."""

    def __init__(self, folder):
        self.line = socket.socket(socket.AF_UNIX)
        os.chdir(folder)  # a socket's path is short
        self.line.connect("control")
        self.line.settimeout(ROW_S)
        self.file = self.line.makefile("rw", encoding="ascii", newline="\n")
        self.ask("hello")

    def begin(self, command):
        self.file.write(command + "\n")
        self.file.flush()

    def end(self):
        return self.file.readline().strip()

    def ask(self, command):
        self.begin(command)
        return self.end()

    def gid_index(self, address):
        mapped = (bytes(10) + b"\xff\xff" + socket.inet_aton(address)).hex()
        return self.ask("gids").split()[1:].index(mapped)


def listens_s(port, in_guest, deadline_s):
    """Until something listens there. A perftest takes one caller only, so it is not called to see:
    the host's is looked up, the guest's is given a moment."""
    if in_guest:
        time.sleep(1.0)
        return
    wanted = f":{port:04X} "
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        for table in ("tcp", "tcp6"):
            with open(f"/proc/self/net/{table}", encoding="ascii") as file:
                if any(wanted in line and " 0A " in line for line in file):
                    return
        time.sleep(0.02)
    raise RuntimeError("nothing listens")


def play(build, agent, row, guest_calls, gid_index):
    """One program at both ends. None, or what went wrong."""
    program, *words = row.split()
    there = [program, "-d", "rxe0", *words]
    here = [f"{build}/rig5", "run", "--nic", f"addr={HOST}", "--", program, "-d", "mlx5_0", *words]
    port = PERFTEST_PORT if program.startswith("ib_") else PINGPONG_PORT
    option = "-x" if program.startswith("ib_") else "-g"
    there += ["-p", str(port), option, str(gid_index)]
    here += ["-p", str(port), option, "0"]
    if guest_calls:
        there.append(HOST)
    else:
        here.append(GUEST)
        agent.begin("run " + " ".join(there))
        listens_s(port, True, ROW_S)
    with subprocess.Popen(here, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          preexec_fn=_guest.die_with_parent) as ours:
        try:
            if guest_calls:
                listens_s(port, False, ROW_S)
                agent.begin("run " + " ".join(there))
            said, _ = ours.communicate(timeout=ROW_S)
        except (subprocess.TimeoutExpired, RuntimeError) as error:
            ours.kill()
            said = f"{error}; then killed. {ours.communicate()[0]}"
    try:
        answer = agent.end()
    except TimeoutError:
        answer = "does not end"
    if ours.returncode != 0 or "invalid data" in said:
        return f"our end says, status {ours.returncode}:\n{said}"
    if answer != "ok status=0":
        return f"Linux's end: {answer}; ours says:\n{said}"
    return None


def play_with_even_clocks(build, agent, row, guest_calls, gid_index, guest):
    """As play, and once more where a program could not time its processor."""
    for left in reversed(range(TRIES)):
        before = len(guest.console())
        wrong = play(build, agent, row, guest_calls, gid_index)
        said = guest.console()[before:]
        if wrong is None or left == 0 or UNEVEN_CLOCK not in wrong + said:
            return wrong, said
        print(f"again, as a clock was uneven: {row}", flush=True)


def inside(build):
    folder = f"{build}/interop/programs"
    parts = [a for a in sys.argv[2:] if a != "-v"]
    start = time.monotonic()
    passed = failed = 0
    with _guest.Guest(f"{build}/interop", folder, tap="tap0") as guest:
        guest.wait_ready(BOOT_S)
        agent = Agent(folder)
        gid_index = agent.gid_index(GUEST)
        for row in [*PINGPONGS, *PERFTESTS]:
            for guest_calls in (False, True):
                name = f"{row}, {'Linux calls' if guest_calls else 'Linux is called'}"
                if not all(part in name for part in parts):
                    continue
                wrong, said = play_with_even_clocks(build, agent, row, guest_calls, gid_index,
                                                    guest)
                if wrong or "invalid data" in said:
                    print(f"FAILED {name}: {wrong}\n{said[-2000:]}", flush=True)
                    failed += 1
                    break  # what is left of it would be in the way of the next
                passed += 1
                if "-v" in sys.argv:
                    print(f"passed {name}", flush=True)
            if failed:
                break
    print(f"{passed} passed, {failed} failed, after {time.monotonic() - start:.1f} s")
    return 1 if failed or not passed else 0


def main():
    if not (shutil.which("ib_send_bw") and shutil.which("ibv_rc_pingpong")):
        print("skipped: perftest and ibverbs-utils are not installed")
        return _tap.SKIPPED
    return _tap.main(inside)


if __name__ == "__main__":
    sys.exit(main())
