# SPDX-License-Identifier: BSD-2-Clause
"""Shows what `rig5 decode` says of good, bad and damaged captures. By running it on the files of
tests/golden, on pipes, and on files damaged at random with a printed seed: whatever it reads, it
ends with status 0, 1 or 2, and says why where it is not 0."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
RIG5 = os.environ.get("RIG5_DECODE", os.path.join(BUILD, "rig5"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden")
SEED = 1
DAMAGED_RUNS = 150

# Of good/: exit status, and the summary behind "<packets> packets: ".
GOOD = {
    "le_us.pcap": (0, "6 packets: 6 RoCE v2, 0 with a bad ICRC"),
    "be_us.pcap": (0, "6 packets: 6 RoCE v2, 0 with a bad ICRC"),
    "le_ns.pcap": (0, "6 packets: 6 RoCE v2, 0 with a bad ICRC"),
    "be_ns.pcap": (0, "6 packets: 6 RoCE v2, 0 with a bad ICRC"),
    "raw_ip.pcap": (0, "6 packets: 6 RoCE v2, 0 with a bad ICRC"),
    "no_packets.pcap": (0, "0 packets: 0 RoCE v2, 0 with a bad ICRC"),
    "other_protocols.pcap": (0, "5 packets: 1 RoCE v2, 0 with a bad ICRC, 2 too short or with "
                                "broken headers, 2 of other protocols"),
    "cut_by_capture.pcap": (0, "6 packets: 0 RoCE v2, 0 with a bad ICRC, 6 cut short by the "
                               "capture"),
    "le.pcapng": (0, "6 packets: 6 RoCE v2, 0 with a bad ICRC"),
    "be.pcapng": (0, "6 packets: 6 RoCE v2, 0 with a bad ICRC"),
    "mixed.pcapng": (0, "5 packets: 4 RoCE v2, 0 with a bad ICRC, 1 of an unknown link type"),
    "bad_icrc.pcap": (1, "3 packets: 3 RoCE v2, 1 with a bad ICRC"),
    "unknown_opcode.pcap": (1, "1 packets: 1 RoCE v2, 1 with a bad ICRC, 1 malformed"),
}

# Of bad/: what the message must contain, after the file's name. The status is 2.
BAD = {
    "empty": "the file is empty",
    "two_bytes": "neither pcap nor pcapng",
    "text": "neither pcap nor pcapng",
    "header_cut.pcap": "cut short",
    "version.pcap": "pcap version 3 is not known",
    "record_cut.pcap": "cut short after packet 1",
    "record_header_cut.pcap": "cut short after packet 1",
    "huge_record.pcap": "packet 1 claims 4294967280 bytes",
    "link_type.pcap": "link type 147 is neither",
    "magic.pcapng": "byte order magic",
    "section_length.pcapng": "section header of 16 bytes",
    "block_length_8.pcapng": "block of 8 bytes after packet 0",
    "block_length_odd.pcapng": "block of 33 bytes after packet 0",
    "block_length_huge.pcapng": "too long",
    "lengths_differ.pcapng": "block lengths 156 and 4 differ",
    "claim.pcapng": "claims 2147483647 bytes",
    "no_interface.pcapng": "is of interface 0, of 0",
    "interface_7.pcapng": "is of interface 7, of 1",
    "packet_too_small.pcapng": "block of 16 bytes",
    "simple_too_small.pcapng": "block of 0 bytes",
    "interface_too_small.pcapng": "interface block of 4 bytes",
    "option_runs_out.pcapng": "option runs past its block",
    "interfaces.pcapng": "more than 1024 interfaces",
    "block_cut.pcapng": "cut short",
    "unknown_block_cut.pcapng": "cut short",
}

failures = []


def expect(name, good, seen=""):
    if not good:
        failures.append(f"{name}: {seen!r}")


def decode(*args, data=None):
    run = subprocess.run([RIG5, "decode", *args], input=data, capture_output=True, timeout=20)
    return run.returncode, run.stdout.decode(), run.stderr.decode()


def golden(*parts):
    return os.path.join(GOLDEN, *parts)


def good_files():
    expect("good/ is what the table lists", sorted(GOOD) == sorted(os.listdir(golden("pcap", "good"))))
    for name, (status, summary) in GOOD.items():
        got, out, err = decode(golden("pcap", "good", name))
        lines = out.splitlines()
        expect(f"{name}: status", got == status, (got, err))
        expect(f"{name}: summary", lines[-1:] == [summary], out)
        expect(f"{name}: one line for each packet",
               len(lines) - 1 == int(re.search(r"(\d+) RoCE", summary).group(1)), out)
        quiet = decode("--quiet", golden("pcap", "good", name))
        expect(f"{name}: --quiet", quiet == (status, summary + "\n", err), quiet)


def bad_files():
    expect("bad/ is what the table lists", sorted(BAD) == sorted(os.listdir(golden("pcap", "bad"))))
    for name, message in BAD.items():
        path = golden("pcap", "bad", name)
        got, _, err = decode(path)
        expect(f"{name}: status", got == 2, (got, err))
        expect(f"{name}: message", path in err and message in err and err.count("\n") == 1, err)


def times_and_marks():
    """Times in each resolution, a bad ICRC's mark, an opcode without a row."""
    for name, first in (("le_us.pcap", "0.000001000"), ("be_ns.pcap", "0.000001000"),
                        ("le.pcapng", "0.000001000")):
        out = decode(golden("pcap", "good", name))[1].splitlines()
        expect(f"{name}: second time", out[1].startswith(f"#2 {first} "), out[1])
    out = decode(golden("pcap", "good", "mixed.pcapng"))[1].splitlines()
    expect("mixed: binary resolution and offset", out[1].startswith("#2 0.499999995 "), out[1])
    expect("mixed: no time", out[2].startswith("#4 ? "), out[2])
    out = decode(golden("pcap", "good", "bad_icrc.pcap"))[1].splitlines()
    expect("bad_icrc: marks", [line.split()[-1] for line in out[:3]] == ["ok", "BAD", "ok"], out)
    out = decode(golden("pcap", "good", "unknown_opcode.pcap"))[1]
    expect("unknown_opcode: words", "opcode 0xde, 76 bytes: unknown opcode icrc BAD" in out, out)


def line_of(packet):
    """The parts of a packet's line that rxe.json knows."""
    parts = [f"#{packet['n']} ", f" {packet['src']} > {packet['dst']} {packet['name']} ",
             f" qpn 0x{packet['dqpn']:x} psn 0x{packet['psn']:x} ", f" len {packet['plen']} "]
    parts += [f" {word} 0x{packet[key]:x} " for key, word in (
        ("va", "va"), ("rkey", "rkey"), ("swap_add", "swap_add"), ("cmp", "compare"),
        ("orig", "orig"), ("imm", "imm"), ("qkey", "qkey"), ("srcqp", "from")) if key in packet]
    parts += [f" dma {packet['dmalen']} "] if "dmalen" in packet else []
    parts += [f" msn {packet['msn']} "] if "msn" in packet else []
    return parts


def rxe_capture():
    with open(golden("wire", "rxe.json"), encoding="utf-8") as file:
        packets = json.load(file)["packets"]
    status, out, _ = decode(golden("wire", "rxe.pcap"))
    lines = out.splitlines()
    expect("rxe: status", status == 0, status)
    expect("rxe: lines", len(lines) == 80, len(lines))
    for packet, line in zip(packets, lines):
        missing = [part for part in line_of(packet) if part not in line]
        expect(f"rxe packet {packet['n']}", not missing and line.endswith(" icrc ok"),
               (missing, line))


def other_inputs():
    with open(golden("pcap", "good", "le_us.pcap"), "rb") as file:
        data = file.read()
    expect("standard input", decode("-", data=data)[0] == 0)
    for name, args, message in (("no file", [], "which file?"), ("two", ["a", "b"], "one file"),
                                ("option", ["--frobnicate"], "--help"),
                                ("missing", ["/nonexistent.pcap"], "No such file"),
                                ("directory", [GOLDEN], "Is a directory")):
        status, out, err = decode(*args)
        expect(f"{name}: refused", status == 2 and out == "" and message in err, (status, err))
    status, out, err = decode("--help")
    expect("--help", status == 0 and "rig5 decode" in out and err == "", (status, err))


def damaged_files():
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    names = sorted(GOOD)
    with tempfile.TemporaryDirectory() as folder:
        for run in range(DAMAGED_RUNS):
            name = names[run % len(names)]
            with open(golden("pcap", "good", name), "rb") as file:
                data = bytearray(file.read())
            for _ in range(rng.randrange(1, 8)):
                data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7f, 0x80, 0xff,
                                                            rng.randrange(256)))
            if rng.randrange(4) == 0:
                del data[rng.randrange(len(data)):]
            path = os.path.join(folder, "damaged")
            with open(path, "wb") as file:
                file.write(data)
            status, _, err = decode(path)
            expect(f"damaged {name}, run {run}", status in (0, 1, 2) and (status != 2 or err),
                   (status, err))


for check in (good_files, bad_files, times_and_marks, rxe_capture, other_inputs, damaged_files):
    check()
for failure in failures[:20]:
    print(failure)
sys.exit(1 if failures else 0)
