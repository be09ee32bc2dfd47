# SPDX-License-Identifier: BSD-2-Clause
"""Shows that tests/golden/wire/rxe.tsv says what rxe.json says. By making it anew and comparing;
`--write` stores it instead."""
import ipaddress
import json
import os
import sys

COLUMNS = ("n v tos ttl ip_id ip_ff flow src dst sport udp_len udp_csum op name se mig pad tver pkey "
           "resv8a dqpn ackreq resv7 psn syndrome msn imm va rkey dmalen swap_add cmp orig qkey srcqp "
           "plen icrc payload").split()


def gid(address):
    ip = ipaddress.ip_address(address)
    return ip.packed.hex() if ip.version == 6 else "00" * 10 + "ffff" + ip.packed.hex()


def cell(packet, column):
    value = packet.get(column)
    if value is None or value == "":
        return "-"
    if column in ("src", "dst"):
        return gid(value)
    return str(value)


def make(folder):
    with open(os.path.join(folder, "rxe.json"), encoding="utf-8") as file:
        packets = json.load(file)["packets"]
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join(cell(p, c) for c in COLUMNS) for p in packets]
    return "\n".join(lines) + "\n"


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wire")
    path = os.path.join(folder, "rxe.tsv")
    text = make(folder)
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(path, encoding="utf-8") as file:
        if file.read() == text:
            return 0
    print("rxe.tsv is not what rxe.json says: run tests/golden/wire_tsv.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
