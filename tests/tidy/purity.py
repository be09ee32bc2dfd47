# SPDX-License-Identifier: BSD-2-Clause
"""Shows that the pure layers need nothing but memcpy, its kin and base_panic: no I/O, clock, errno,
allocation. By nm over their objects; what a layer below defines, as the table says, is no need."""
import glob
import os
import re
import subprocess
import sys

import _tidy

PURE = ("base", "abi", "nic", "fault", "kern")
ALLOWED = {"memcpy", "memmove", "memset", "memcmp", "base_panic", "_GLOBAL_OFFSET_TABLE_"}


def symbols(tree, layer, *options):
    """{symbol: object} of the layer's objects; one whose source is gone does not count."""
    folder = f"{tree.build}/CMakeFiles/rig5_{layer}.dir/"
    found = {}
    for path in glob.glob(f"{folder}{layer}/**/*.o", recursive=True):
        if not tree.has(path[len(folder):-len(".o")]):
            continue
        out = subprocess.run(["nm", "-P", *options, path], check=True, capture_output=True,
                             text=True).stdout
        for line in out.splitlines():
            found[line.split()[0]] = os.path.basename(path)
    return found


def check(tree):
    findings = []
    table = _tidy.layers(tree)
    for layer in PURE:
        if not tree.has(layer) or not glob.glob(f"{tree.root}/{layer}/**/*.c", recursive=True):
            continue
        below = [layer] + [s.rstrip("/") for s in table[layer]]
        defined = set().union(*(symbols(tree, b, "--defined-only") for b in below))
        if not symbols(tree, layer, "--defined-only"):
            findings.append(f"{layer}: no objects in {tree.build}")
        for name, where in sorted(symbols(tree, layer, "-u").items()):
            if name not in defined and name not in ALLOWED:
                findings.append(f"{layer}: {where} needs {name}")
    return findings


def build(root):
    for path in glob.glob(f"{root}/*/*.c"):
        layer, name = path.split("/")[-2:]
        objects = f"{root}/build/CMakeFiles/rig5_{layer}.dir/{layer}"
        os.makedirs(objects, exist_ok=True)
        if "not built" not in open(path, encoding="utf-8").read():
            subprocess.run(["cc", "-O2", "-c", path, "-o", f"{objects}/{name}.o"], check=True)


TABLE = {"docs/ARCHITECTURE.md": "## Layers\n\n```\nbase  a\nabi   b  sees: base\n"
                                 "nic   c  sees: abi, base\nkern  d  sees: nic\n```\n"}
BAD = [
    ("malloc", TABLE | {"base/a.c": "#include <stdlib.h>\nvoid *a(void) { return malloc(4); }\n"},
     "base: a.c.o needs malloc"),
    ("errno", TABLE | {"abi/a.c": "#include <errno.h>\nint a(void) { return errno; }\n"},
     "abi: a.c.o needs __errno_location"),
    ("upwards", TABLE | {"base/a.c": "int b(void);\nint a(void) { return b() + 1; }\n",
                         "nic/b.c": "int b(void) { return 1; }\n"}, "base: a.c.o needs b"),
    ("no object", TABLE | {"base/a.c": "/* not built */\n"}, "base: no objects"),
    ("good", TABLE | {"base/b.c": "int b(void) { return 1; }\n",
                      "nic/a.c": "#include <string.h>\nint b(void);\nvoid a(char *d, char *s, int n)"
                                 " { memcpy(d, s, n + b()); }\n"}, None),
]


def optimised():
    with open(os.path.join(sys.argv[1], "CMakeCache.txt"), encoding="utf-8") as cache:
        text = cache.read()
    return (re.search(r"^CMAKE_BUILD_TYPE:.*=Rel", text, re.MULTILINE)
            and re.search(r"^RIG5_SANITIZE:.*=$", text, re.MULTILINE))


if __name__ == "__main__":
    if not optimised():
        print("skipped: not an optimised build without sanitizers")
        sys.exit(_tidy.SKIPPED)
    _tidy.main(check, BAD, build)
