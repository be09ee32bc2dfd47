# SPDX-License-Identifier: BSD-2-Clause
"""Shows that the tree names no place that only one machine has, and that each mark of unfinished
work names its issue. By searching every text file, with patterns put together so that they do not
find themselves."""
import re

import _tidy

FORBIDDEN = [
    (re.compile(r"/wor" r"k/"), "a path of one machine"),
    (re.compile(r"/tmp/bri" r"ef"), "a path of one machine"),
    (re.compile(r"\.\./shar" r"ed/|\bshar" r"ed/(facts|wire|seeds|DESIGN|STYLE)"),
     "a path outside the tree"),
    (re.compile(r"\b(deb|security)\.debi" r"an\.org\b"), "a package host"),
    (re.compile(r"\b(TO" r"DO|FIX" r"ME)\b(?!\(?:? ?#\d)"), "no issue number: write #<n> after it"),
]


def check(tree):
    findings = []
    for path in tree.files():
        text = tree.read(path)
        if "\0" in text:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, why in FORBIDDEN:
                match = pattern.search(line)
                if match:
                    findings.append(f"{path}:{number}: '{match.group(0)}': {why}")
    return findings


MARK = "TO" "DO"
BAD = [
    ("path", {"a/b.c": "/* see /wor" "k/x */\n"}, "a/b.c:1: '/wor" "k/'"),
    ("beside", {"README.md": "\n../shar" "ed/x\n"}, "README.md:2:"),
    ("host", {"a.sh": "curl deb.debi" "an.org\n"}, "a.sh:1:"),
    ("mark", {"a/b.c": f"/* {MARK}: later */\n"}, f"a/b.c:1: '{MARK}'"),
    ("good", {"a/b.c": f"/* {MARK} #12: later; {MARK}(#3) */\n"}, None),
]

if __name__ == "__main__":
    _tidy.main(check, BAD)
