# SPDX-License-Identifier: BSD-2-Clause
"""Makes good/ and bad/ beside it: captures for `rig5 decode`. The packets are the first of
../wire/rxe.pcap (captured from Linux 6.1 rdma_rxe); the files around them are made here."""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = 6
SECOND = 1700000000


def rxe_frames():
    with open(os.path.join(HERE, "..", "wire", "rxe.pcap"), "rb") as file:
        data = file.read()
    at, frames = 24, []
    while at < len(data) and len(frames) < COUNT:
        length = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


FRAMES = rxe_frames()
ARP = b"\xff" * 6 + b"\x02" + bytes(5) + b"\x08\x06" + bytes(28)
DNS = FRAMES[0][:36] + b"\x00\x35" + FRAMES[0][38:]


def pcap(frames, order="<", ns=False, link=1, strip=0, snap=None):
    out = struct.pack(order + "IHHiIII", 0xa1b23c4d if ns else 0xa1b2c3d4, 2, 4, 0, 0, 65535, link)
    for i, frame in enumerate(frames):
        frame = frame[strip:]
        kept = frame[:snap]
        out += struct.pack(order + "IIII", SECOND, (i + 1) * (1000 if ns else 1), len(kept),
                           len(frame)) + kept
    return out


def block(kind, body, order="<", length=None):
    body += bytes(-len(body) % 4)
    size = len(body) + 12 if length is None else length
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", len(body) + 12)


def section(order="<"):
    return block(0x0a0d0d0a, struct.pack(order + "IHHq", 0x1a2b3c4d, 1, 0, -1), order)


def option(code, value, order="<"):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(order="<", link=1, snap=0, options=b""):
    return block(1, struct.pack(order + "HHI", link, 0, snap) + options, order)


def enhanced(frame, ticks, order="<", number=0, claim=None):
    size = len(frame) if claim is None else claim
    head = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xffffffff, size, len(frame))
    return block(6, head + frame, order)


def pcapng(order="<"):
    out = section(order) + interface(order)
    for i, frame in enumerate(FRAMES):
        out += enhanced(frame, SECOND * 1000000 + i + 1, order)
    return out


def pcapng_mixed():
    """Two sections of unlike byte order, three interfaces of unlike resolution, all packet blocks,
    blocks and options that a reader must step over."""
    tail = option(2, b"eth0") + option(9, b"\x09") + option(0, b"")
    out = section("<") + block(0x0bad, bytes(40)) + interface("<", options=tail)
    out += interface("<", link=101, options=option(9, b"\x8a") + option(14, struct.pack("<q", 100)))
    out += interface("<", link=147)
    out += enhanced(FRAMES[0], SECOND * 10**9 + 5)
    out += enhanced(FRAMES[1][14:], (SECOND - 100) * 1024 + 512, number=1)
    out += enhanced(b"1234", 0, number=2)
    out += block(3, struct.pack("<I", len(FRAMES[2])) + FRAMES[2])
    old = struct.pack(">HHIIII", 0, 0, 0, 7, len(FRAMES[3]), len(FRAMES[3])) + FRAMES[3]
    return out + section(">") + interface(">") + block(2, old, ">")


def damaged(frame):
    return frame[:-1] + bytes([frame[-1] ^ 1])


def unknown_opcode(frame):
    return frame[:42] + b"\xde" + frame[43:]


GOOD = {
    "le_us.pcap": pcap(FRAMES),
    "be_us.pcap": pcap(FRAMES, ">"),
    "le_ns.pcap": pcap(FRAMES, ns=True),
    "be_ns.pcap": pcap(FRAMES, ">", ns=True),
    "raw_ip.pcap": pcap(FRAMES, link=101, strip=14),
    "no_packets.pcap": pcap([]),
    "other_protocols.pcap": pcap([ARP, FRAMES[0], DNS, b"", b"\x00"]),
    "cut_by_capture.pcap": pcap(FRAMES, snap=60),
    "le.pcapng": pcapng("<"),
    "be.pcapng": pcapng(">"),
    "mixed.pcapng": pcapng_mixed(),
    "bad_icrc.pcap": pcap([FRAMES[0], damaged(FRAMES[1]), FRAMES[2]]),
    "unknown_opcode.pcap": pcap([unknown_opcode(FRAMES[0])]),
}
NG = section() + interface()
BAD = {
    "empty": b"",
    "two_bytes": b"\xd4\xc3",
    "text": b"This is not a capture.\n",
    "header_cut.pcap": pcap([])[:20],
    "version.pcap": pcap([])[:4] + b"\x03" + pcap([])[5:],
    "record_cut.pcap": pcap(FRAMES[:2])[:-10],
    "record_header_cut.pcap": pcap(FRAMES[:1]) + bytes(7),
    "huge_record.pcap": pcap([]) + struct.pack("<IIII", 0, 0, 0xfffffff0, 0xfffffff0),
    "link_type.pcap": pcap(FRAMES[:1], link=147),
    "magic.pcapng": section()[:8] + b"\0\0\0\0" + section()[12:],
    "section_length.pcapng": b"\x0a\x0d\x0d\x0a" + struct.pack("<II", 16, 0x1a2b3c4d) + bytes(20),
    "block_length_8.pcapng": NG + struct.pack("<II", 6, 8),
    "block_length_odd.pcapng": NG + struct.pack("<II", 6, 33) + bytes(40),
    "block_length_huge.pcapng": NG + struct.pack("<II", 6, 0xfffffffc) + bytes(40),
    "lengths_differ.pcapng": NG + enhanced(FRAMES[0], 1)[:-4] + struct.pack("<I", 4),
    "claim.pcapng": NG + enhanced(FRAMES[0], 1, claim=0x7fffffff),
    "no_interface.pcapng": section() + enhanced(FRAMES[0], 1),
    "interface_7.pcapng": NG + enhanced(FRAMES[0], 1, number=7),
    "packet_too_small.pcapng": NG + block(6, bytes(16)),
    "simple_too_small.pcapng": NG + block(3, b""),
    "interface_too_small.pcapng": section() + block(1, bytes(4)),
    "option_runs_out.pcapng": section() + interface(options=struct.pack("<HH", 9, 400)),
    "interfaces.pcapng": section() + interface() * 1025,
    "block_cut.pcapng": NG + enhanced(FRAMES[0], 1)[:-2],
    "unknown_block_cut.pcapng": NG + struct.pack("<II", 0x99, 0x1000) + bytes(16),
}

if __name__ == "__main__":
    for folder, files in (("good", GOOD), ("bad", BAD)):
        os.makedirs(os.path.join(HERE, folder), exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(HERE, folder, name), "wb") as file:
                file.write(data)
