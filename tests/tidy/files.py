# SPDX-License-Identifier: BSD-2-Clause
"""Shows that no C file is dead and that every source names its licence. By looking each .c and .S
up in compile_commands.json and in the #includes, each .h and .def in the #includes."""
import json
import os
import re

import _tidy

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
PUBLIC = "include/rig5.h"
OPTIONAL = re.compile(r"^/\* package: .* \*/$", re.MULTILINE)  # built where that is installed
SOURCES = _tidy.C_SUFFIXES + (".py", ".sh", ".cmake", ".map", "CMakeLists.txt", "Makefile")


def compiled(tree):
    path = os.path.join(tree.build, "compile_commands.json")
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        commands = json.load(file)
    return {os.path.relpath(os.path.join(c["directory"], c["file"]), tree.root) for c in commands}


def included(tree):
    """Every path that some other file's #include may mean."""
    found = set()
    for path in tree.c_files():
        for name in INCLUDE.findall(tree.read(path)):
            found.add(name)
            found.add(os.path.normpath(os.path.join(os.path.dirname(path), name)))
    return found


def check(tree):
    alive = compiled(tree) | included(tree) | {PUBLIC}
    findings = [f"{p}: nothing builds or includes it" for p in tree.c_files()
                if p not in alive and not OPTIONAL.search(tree.read(p))]
    for path in tree.files(SOURCES):
        head = "\n".join(tree.read(path).splitlines()[:2])
        if "SPDX-License-Identifier: BSD-2-Clause" not in head:
            findings.append(f"{path}: no SPDX line at its head")
    return findings


SPDX = "/* SPDX-License-Identifier: BSD-2-Clause */\n"
BUILT = {"build/compile_commands.json": '[{"directory": "..", "file": "nic/a.c"}]'}
BAD = [
    ("dead source", {"nic/b.c": SPDX}, "nic/b.c: nothing builds"),
    ("dead header", {"nic/b.h": SPDX}, "nic/b.h: nothing builds"),
    ("no licence", {"nic/b.c": "int a;\n"}, "nic/b.c: no SPDX"),
    ("no licence in a script", {"scripts/a.sh": "#!/bin/bash\n"}, "scripts/a.sh: no SPDX"),
    ("good", {"nic/c.c": SPDX + '#include "c.c"\n#include "nic/d.h"\n', "nic/d.h": SPDX}, None),
]

if __name__ == "__main__":
    _tidy.main(check, BAD)
