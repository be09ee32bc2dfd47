# SPDX-License-Identifier: BSD-2-Clause
"""Shows that `rig5 stats` finds a running process by number and by NIC, that its counts grow and agree
with each other, that --json is JSON, that --watch goes on until the process has ended and no longer,
and that what is not there ends with a message and status 1. By a `rig5 perf` that runs beside."""
import json
import os
import re
import signal
import subprocess
import sys
import time

BUILD = sys.argv[1] if len(sys.argv) > 1 else os.environ["RIG5_BUILD_DIR"]
RIG5 = os.path.join(BUILD, "rig5")
HIGH, LOW = os.getpid() >> 8 & 255, os.getpid() % 254 + 1
# Two NICs of this test's own, so that processes of others are told from ours.
NICS = [f"stats{os.getpid()}a", f"stats{os.getpid()}b"]
SOFT = f"{NICS[0]},addr=127.81.{HIGH}.{LOW};{NICS[1]},addr=127.82.{HIGH}.{LOW}"
ENV = {**os.environ, "RIG5_SOFT": SOFT}
failures = []


def check(name, condition, shown=""):
    if not condition:
        failures.append(name)
        print(f"FAILED: {name} {shown!r}")


def stats(*arguments, status=0):
    done = subprocess.run([RIG5, "stats", *arguments], capture_output=True, text=True, timeout=60,
                          env=ENV, check=False)
    check(f"stats {arguments} ends with {status}", done.returncode == status,
          (done.returncode, done.stdout, done.stderr))
    return done


def sample(*arguments):
    """The NICs of a sample."""
    return json.loads(stats("--json", *arguments).stdout)["nics"]


class Perf:
    """A `rig5 perf` of both sides, which ends when it is told to."""

    def __init__(self, nic):
        self.process = subprocess.Popen(
            [RIG5, "perf", "--nic", nic, "--op", "write", "--bw", "--size", "4K", "--iterations",
             "1000000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
        self.nic = nic

    def both(self):
        """The NICs of its two processes, once they move data: the writer's first."""
        for _ in range(200):
            done = subprocess.run([RIG5, "stats", "--json", self.nic], capture_output=True,
                                  text=True, timeout=60, env=ENV, check=False)
            nics = json.loads(done.stdout)["nics"] if done.returncode == 0 else []
            nics.sort(key=lambda nic: nic["counters"]["rx_write_requests"])
            if len(nics) == 2 and nics[1]["counters"]["rx_write_requests"] > 0:
                return nics
            time.sleep(0.05)
        raise SystemExit("rig5 perf did not come to write anything")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)


def growing():
    writer, target = perf.both()
    check("address", writer["address"] == f"127.81.{HIGH}.{LOW}", writer["address"])
    check("name", writer["nic"] == NICS[0], writer["nic"])
    later_writer, later_target = perf.both()
    check("writes grow", later_target["counters"]["rx_write_requests"] >
          target["counters"]["rx_write_requests"])
    check("packets grow", later_writer["counters"]["port_xmit_packets"] >
          writer["counters"]["port_xmit_packets"])
    for nic in (later_writer, later_target):
        pairs = nic["queue_pairs"]
        check("a queue pair", len(pairs) == 1 and pairs[0]["type"] == "RC"
              and pairs[0]["state"] == "RTS", pairs)
        # One answer is one moment.
        check("all packets are the queue pair's",
              sum(pair["tx_packets"] for pair in pairs) == nic["counters"]["port_xmit_packets"],
              nic)
        check("data counts its headers", nic["counters"]["port_xmit_data"] * 4 >=
              sum(pair["tx_payload_bytes"] for pair in pairs)
              + 12 * nic["counters"]["port_xmit_packets"], nic)
        for name, value in nic["counters"].items():
            check(f"{name} is a number", isinstance(value, int) and value >= 0, value)
    check("the queue pairs name each other",
          later_writer["queue_pairs"][0]["dest_qpn"] == later_target["queue_pairs"][0]["qpn"])
    return later_target["pid"]


def chosen(pid):
    check("by process", [nic["pid"] for nic in sample(str(pid))] == [pid])
    check("by NIC", len(sample(NICS[0])) == 2)
    table = stats(NICS[0]).stdout
    check("table", re.search(rf"^{NICS[0]} of process {pid} \(.+\), at 127\.81\.", table, re.M)
          and re.search(r"rx_write_requests +[1-9]\d*", table)
          and re.search(r"^  0x[0-9a-f]{6} RC +RTS +127\.81\.", table, re.M), table)
    check("no escapes where no terminal is", "\033" not in table)


def nothing():
    for arguments, word in ((["no-such-nic"], "no-such-nic"), ([str(os.getpid())], "no software")):
        done = stats(*arguments, status=1)
        check(f"a message about {arguments}", word in done.stderr and not done.stdout,
              (done.stdout, done.stderr))
    for arguments in (["--watch=0"], ["--watch=x"], ["a", "b"]):
        stats(*arguments, status=2)


def watched(pid):
    """Until the process has ended, not until its peer has."""
    watch = subprocess.Popen([RIG5, "stats", "--watch=1", "--json", str(pid)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    first, second = (json.loads(watch.stdout.readline())["nics"][0] for _ in range(2))
    check("watch: later", second["time_ns"] - first["time_ns"] >= 900000000)
    check("watch: more", second["counters"]["port_rcv_packets"] >
          first["counters"]["port_rcv_packets"])
    table = subprocess.Popen([RIG5, "stats", "-w1", str(pid)], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=ENV)
    lines = [table.stdout.readline()]
    while lines[-1] and "Gb/s out" not in lines[-1]:
        lines.append(table.stdout.readline())
    check("watch shows rates", re.search(r"[\d.]+ Gb/s out, [\d.]+ Gb/s in", lines[-1]), lines)
    perf.end()
    for process in (watch, table):
        errors = process.communicate(timeout=30)[1]
        check("watch ends with the process", process.returncode == 0, (process.returncode, errors))
        check("and says nothing of it", not errors, errors)


def interrupted():
    watch = subprocess.Popen([RIG5, "stats", "--watch", NICS[1]], stdout=subprocess.PIPE, env=ENV)
    watch.stdout.readline()
    watch.send_signal(signal.SIGINT)
    watch.communicate(timeout=30)
    check("watch ends at a signal", watch.returncode == -signal.SIGINT, watch.returncode)


perf = Perf(NICS[0])
other = Perf(NICS[1])
try:
    target_pid = growing()
    chosen(target_pid)
    other.both()
    check("NICs beside each other", {nic["nic"] for nic in sample()} >= set(NICS))
    check("the other's are not mixed in", len(sample(NICS[0])) == 2)
    nothing()
    interrupted()
    watched(target_pid)
finally:
    perf.end()
    other.end()
sys.exit(bool(failures))
