#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""_corpus.py unpack <corpus.txt> <directory>   - one file for each entry, named after it
_corpus.py pack <directory> <corpus.txt> <where it came from> - adds what is in the directory and not
in the corpus; run it on a directory that libFuzzer has minimised (-merge=1)."""
import hashlib
import os
import sys

LINE_BYTES = 48


def read(path):
    """[(name, origin, bytes)], and the comment lines of the head."""
    entries, head = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("@"):
                name, _, origin = line[1:].strip().partition(": ")
                entries.append([name, origin, b""])
            elif line.startswith("#"):
                head.append(line)
            elif line:
                entries[-1][2] += bytes.fromhex(line)
    return head, entries


def unpack(corpus, directory):
    os.makedirs(directory, exist_ok=True)
    for name, _, data in read(corpus)[1]:
        with open(os.path.join(directory, name), "wb") as file:
            file.write(data)


def pack(directory, corpus, origin):
    head, entries = read(corpus)
    known = {data for _, _, data in entries}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as file:
            data = file.read()
        if data not in known:
            entries.append([hashlib.sha1(data).hexdigest()[:12], origin, data])
    with open(corpus, "w", encoding="utf-8") as file:
        for line in head:
            file.write(line + "\n")
        for name, where, data in entries:
            file.write(f"@ {name}: {where}\n")
            for at in range(0, len(data), LINE_BYTES):
                file.write(data[at:at + LINE_BYTES].hex() + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["unpack"] and len(sys.argv) == 4:
        unpack(*sys.argv[2:])
    elif sys.argv[1:2] == ["pack"] and len(sys.argv) == 5:
        pack(*sys.argv[2:])
    else:
        sys.exit(__doc__)
