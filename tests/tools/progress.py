# SPDX-License-Identifier: BSD-2-Clause
"""Shows that `rig5 send` draws a progress bar where stderr is a terminal (bytes, rate, time left), wipes
it at the end, and draws none with --quiet or where stderr is no terminal. By a transfer with a
pseudo terminal as stderr."""
import os
import pty
import re
import subprocess
import sys
import tempfile

RIG5 = os.path.join(sys.argv[1] if len(sys.argv) > 1 else os.environ["RIG5_BUILD_DIR"], "rig5")
SIZE = 512 << 20  # some tenths of a second at least: the bar comes after the first
BAR = re.compile(r"\r *\d+% \[[# ]+\] [\d.]+ \w+ of 512\.0 MiB  [\d.]+ \w+/s  [\d:-]+ left")
failures = []


def check(name, condition, shown=""):
    if not condition:
        failures.append(name)
        print(f"FAILED: {name} {shown!r}")


def drained(terminal):
    """All that is written to the other end, until that is closed."""
    text = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # EIO: nobody has the other end any more
            return text.decode()
        if not more:
            return text.decode()
        text += more


def sender(path, port, *options):
    """(status, stderr) of a sender whose stderr is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([RIG5, "send", "--nic", "soft0", "--to", f"127.0.0.1:{port}",
                                *options, path], stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    text = drained(ours)
    os.close(ours)
    return process.wait(), text


def transfer(path, folder, *options):
    receiver = subprocess.Popen([RIG5, "recv", "--nic", "soft0", "--listen", "127.0.0.1:0",
                                 "--force", folder], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
    port = re.search(r"port (\d+)", receiver.stderr.readline()).group(1)
    status, text = sender(path, port, *options)
    rest = receiver.communicate(timeout=60)[1]
    check("status", status == 0 and receiver.returncode == 0, (status, text, rest))
    check("no bar where stderr is no terminal", "\r" not in rest and "left" not in rest, rest)
    return text


with tempfile.TemporaryDirectory() as work:
    large = os.path.join(work, "large")
    with open(large, "wb") as file:
        file.truncate(SIZE)
    os.mkdir(os.path.join(work, "in"))
    shown = transfer(large, os.path.join(work, "in"))
    check("a bar", BAR.search(shown), shown)
    wiped = shown.rfind("\r\x1b[K")
    check("it is wiped at the end", wiped >= 0 and "left" not in shown[wiped:], shown)
    check("what was done stands there", "Sent 1 file" in shown[wiped:], shown)
    check("--quiet: none", transfer(large, os.path.join(work, "in"), "--quiet") == "")
sys.exit(bool(failures))
