# SPDX-License-Identifier: BSD-2-Clause
"""Shows that `rig5 perf` moves every byte right for each operation, kind and size, with one process
started by another and with two that meet by TCP, and that its tables and its JSON tell the same
story. By small runs with --check, and by killing one of the two."""
import json
import os
import re
import signal
import subprocess
import sys
import time

RIG5 = os.path.join(sys.argv[1] if len(sys.argv) > 1 else os.environ["RIG5_BUILD_DIR"], "rig5")
failures = 0


def check(name, condition, shown=""):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {name} {shown}")


def start(*arguments):
    return subprocess.Popen([RIG5, "perf", "--nic", "soft0", *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end(process):
    try:
        out, err = process.communicate(timeout=200)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += "(hung)"
    return process.returncode, out, err


def rows(*arguments):
    status, out, err = end(start("--json", *arguments))
    check(f"{arguments}: status", status == 0 and err == "", (status, err))
    return json.loads(out)


def test_check():
    """Sizes around what is inline, a packet, and the ring; fewer messages than the depth, and more."""
    for sizes, iterations in (("1,8,220,221,4096,4097", "70"), ("65536,1M", "10")):
        for row in rows("--check", "--size", sizes, "--iterations", iterations):
            check(f"{row}", row["wrong_bytes"] == 0)
    some = rows("--check", "--size", "5000", "--iterations", "3", "--depth", "2")
    check("every operation and kind", len({(r["op"], r["kind"]) for r in some}) == 6, some)
    check("no byte wrong", sum(r["wrong_bytes"] for r in some) == 0, some)
    one = rows("--check", "--size", "9", "--iterations", "30", "--depth", "1", "--bw")
    check("depth 1", sum(r["wrong_bytes"] for r in one) == 0, one)


def test_figures():
    latency = rows("--op", "send", "--lat", "--size", "8,1K", "--iterations", "500")
    for row in latency:
        check("order of latencies", 0 < row["min_us"] <= row["typical_us"] <= row["p99_us"], row)
        check("half a round trip", row["round_trip"] is False)
    (row,) = rows("--op", "read", "--bw", "--size", "64K", "--iterations", "200")
    check("rate and bandwidth agree",
          abs(row["messages_per_us"] * 65536e6 / 2**20 / row["mib_per_s"] - 1) < 0.01, row)
    (row,) = rows("--op", "read", "--lat", "--size", "8", "--iterations", "100")
    check("reads are round trips", row["round_trip"] is True)
    passive = rows("--passive", "--op", "write,read", "--size", "64,64K", "--iterations", "200")
    check("a passive target", len(passive) == 8, passive)


def test_table():
    status, out, _ = end(start("--op", "write", "--size", "8", "--iterations", "100", "--check"))
    check("table status", status == 0)
    check("titles", re.findall(r"RDMA_Write \w+ Test", out) ==
          ["RDMA_Write Latency Test", "RDMA_Write BW Test"], out)
    check("says what the latency is", "half of a round trip" in out)
    check("latency line", re.search(r"^ 8 +100 +[\d.]+ +[\d.]+ +[\d.]+ +ok$", out, re.M), out)
    check("bandwidth line", re.search(r"^ 8 +100 +[\d.]+ +[\d.]+ +ok$", out, re.M), out)


def test_sent_again():
    """What was sent again is said, on a line of its own: the table is as wide as before."""
    os.environ["RIG5_FAULT"] = "drop=10%,seed=1"
    status, out, err = end(start("--op", "write", "--bw", "--size", "64K", "--iterations", "100",
                                 "--check"))
    del os.environ["RIG5_FAULT"]
    check("again: status", status == 0, (status, err))
    check("again: said", re.search(r"^ 65536 +100 +[\d.]+ +[\d.]+ +ok\n +\d+ packets sent again$",
                                   out, re.M), out)


def listen():
    target = start("--listen", "127.0.0.1:0")
    return target, re.search(r"port (\d+)", target.stderr.readline()).group(1)


def test_two():
    target, port = listen()
    status, out, err = end(start("--to", f"127.0.0.1:{port}", "--json", "--size", "64",
                                 "--iterations", "50", "--check"))
    check("client", status == 0 and len(json.loads(out)) == 6, (status, out, err))
    status, _, err = end(target)
    check("target", status == 0, (status, err))


def busy_ticks(process):
    """Processor time so far. In a test a target spins; before and between tests it sleeps."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11])


def test_killed():
    """Whichever is killed, the other ends with a message, soon."""
    for victim in ("client", "target"):
        target, port = listen()
        client = start("--to", f"127.0.0.1:{port}", "--op", "write", "--lat", "--size", "8",
                       "--iterations", "50000000")
        while busy_ticks(target) < 10:
            time.sleep(0.01)
        pair = {"client": client, "target": target}
        pair[victim].send_signal(signal.SIGKILL)
        end(pair.pop(victim))
        ((name, other),) = pair.items()
        status, _, err = end(other)
        check(f"{name} after the {victim} was killed", status == 1 and err, (status, err))


for test in (test_check, test_figures, test_table, test_sent_again, test_two, test_killed):
    test()
print(f"{failures} failures" if failures else "ok")
sys.exit(bool(failures))
