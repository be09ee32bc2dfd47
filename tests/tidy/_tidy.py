# SPDX-License-Identifier: BSD-2-Clause
"""What the lints share: the files of the tree, and a main that tries a lint on bad trees first.

A lint is a function check(tree) that returns findings, one line of text each. Its BAD list holds
tiny trees that it must refuse, each with a piece of the finding it must make; a lint that lets one
of them pass fails, so that no lint can rot into one that finds nothing.
"""
import os
import re
import sys
import tempfile

C_SUFFIXES = (".c", ".h", ".S", ".def")
LEFT_OUT = re.compile(r"^(\.git|build|build-.*|__pycache__)$")
SKIPPED = 77


class Tree:
    """The source tree at root and the build directory (None where a lint needs none)."""

    def __init__(self, root, build=None):
        self.root = os.path.abspath(root)
        self.build = build and os.path.abspath(build)

    def files(self, suffixes=None):
        """Paths below root, sorted, build directories left out; golden data has no suffix rules."""
        found = []
        for folder, names, files in os.walk(self.root):
            names[:] = [n for n in names if not LEFT_OUT.match(n)]
            if "CMakeCache.txt" in files:
                names[:] = []
                continue
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), self.root)
                if suffixes is None or path.endswith(tuple(suffixes)):
                    found.append(path)
        return sorted(found)

    def c_files(self):
        """Our C files: golden data is other programs' bytes."""
        return [p for p in self.files(C_SUFFIXES) if not p.startswith("tests/golden/")]

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def has(self, path):
        return os.path.exists(os.path.join(self.root, path))


def without_comments(text):
    """text with comments blanked out, its lines kept; a string may hold a comment's marks."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.DOTALL)

    def blank(match):
        token = match.group(0)
        return token if token.startswith('"') else "\n" * token.count("\n")

    return pattern.sub(blank, text)


def layers(tree):
    """{layer: what it sees} from the table of docs/ARCHITECTURE.md, as path prefixes."""
    table, name = {}, None
    block = re.search(r"^## Layers$.*?^```$(.*?)^```$", tree.read("docs/ARCHITECTURE.md"),
                      re.DOTALL | re.MULTILINE)
    for line in block.group(1).splitlines():
        start = re.match(r"[a-z]+", line)
        if start:
            name = start.group(0)
            table.setdefault(name, [])
        sees = re.search(r"sees: (.*)", line)
        if sees:
            table[name] = [prefix(item.strip()) for item in sees.group(1).split(",")]
    return table


def prefix(item):
    """The path prefix that an item of a `sees:` list stands for."""
    if item == "the public header":
        return "include/rig5.h"
    header = re.fullmatch(r"([a-z]+)'s ([a-z_]+\.h)", item)
    if header:
        return header.group(1) + "/" + header.group(2)
    return item + "/"


def write(root, files):
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


def self_test(check, bad, prepare):
    """Findings about the lint itself: the bad trees that it let pass."""
    wrong = []
    for name, files, expected in bad:
        with tempfile.TemporaryDirectory() as root:
            write(root, files)
            if prepare:
                prepare(root)
            findings = check(Tree(root, os.path.join(root, "build")))
        if expected is None and findings:
            wrong.append(f"self-test '{name}': refused a good tree: {findings}")
        elif expected is not None and not any(expected in f for f in findings):
            wrong.append(f"self-test '{name}': expected '{expected}', found {findings}")
    return wrong


def main(check, bad, prepare=None):
    """Runs the self-test, then the lint over the tree; exit status 1 on any finding."""
    build = sys.argv[1] if len(sys.argv) > 1 else None
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    findings = self_test(check, bad, prepare)
    findings += check(Tree(root, build))
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
