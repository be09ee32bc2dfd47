# SPDX-License-Identifier: BSD-2-Clause
"""Shows that librig5.so and librig5.a export what include/rig5.h declares, all of it and nothing
else. By nm on one side, and the header's declarations without comments and bodies on the other."""
import glob
import os
import re
import subprocess

import _tidy

HEADER = "include/rig5.h"
PART = "include/rig5_stats.h"  # that it includes


def exported(path):
    table = "-D" if path.endswith(".so") else "-g"
    out = subprocess.run(["nm", table, "-P", "--defined-only", path], check=True,
                         capture_output=True, text=True).stdout
    symbols = [line.split()[:2] for line in out.splitlines() if not line.endswith(":")]
    # "A" is the name of the version itself.
    return {name.split("@")[0] for name, kind in symbols if kind != "A"}


def declared(text):
    text = _tidy.without_comments(text)
    text = re.sub(r"^\s*#(.*\\\n)*.*$", "", text, flags=re.MULTILINE)
    text = text.replace('extern "C" {', "")
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", ";", text)
    names = set()
    for statement in text.split(";"):
        name = re.search(r"\b(rig_\w+)\s*\(", statement)
        if name and not re.search(r"\b(static|typedef)\b", statement):
            names.add(name.group(1))
    return names


def check(tree):
    findings = []
    for name in ("librig5.so", "librig5.a") if tree.has(HEADER) else ():
        path = os.path.join(tree.build, name)
        if os.path.exists(path):
            findings += compare(name, exported(path), said(tree))
        else:
            findings.append(f"{path} is missing")
    return findings


def said(tree):
    return declared(tree.read(HEADER) + (tree.read(PART) if tree.has(PART) else ""))


def compare(name, there, known):
    findings = [f"{name} exports {n}; only rig_* may be" for n in sorted(there)
                if not n.startswith("rig_")]
    findings += [f"{name} exports {n}, which {HEADER} does not declare"
                 for n in sorted(there - known)]
    findings += [f"{HEADER} declares {n}, which {name} does not export"
                 for n in sorted(known - there)]
    return findings


def build(root):
    os.makedirs(f"{root}/build", exist_ok=True)
    for source in glob.glob(f"{root}/lib/*.c"):
        subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{root}/build/librig5.so", source],
                       check=True)
    for source in glob.glob(f"{root}/lib/*.c") + glob.glob(f"{root}/nic/*.c"):
        subprocess.run(["cc", "-fPIC", "-c", "-o", source + ".o", source], check=True)
        subprocess.run(["ar", "rc", f"{root}/build/librig5.a", source + ".o"], check=True)


A = "int rig_a(void) { return 1; }\n"
BAD = [
    ("private", {HEADER: "int rig_a(void);\n", "lib/a.c": A + "int lib_b(void) { return 1; }\n"},
     "exports lib_b; only rig_*"),
    ("private, in the archive", {HEADER: "int rig_a(void);\n", "lib/a.c": A,
                                 "nic/a.c": "int nic_b(void) { return 1; }\n"},
     "librig5.a exports nic_b; only rig_*"),
    ("undeclared", {HEADER: "/* int rig_a(void); */\n", "lib/a.c": A}, "exports rig_a, which"),
    ("not there", {HEADER: "int rig_a(void);\nint rig_b(int\n  x);\n", "lib/a.c": A},
     "declares rig_b, which"),
    ("good", {HEADER: 'extern "C" {\nstruct rig_x { int (*f)(void); };\n#define RIG(x) \\\n'
                      "\trig_y(x)\n__attribute__((x)) int rig_a(void);\n"
                      "static inline int rig_c(void)\n{\n\treturn rig_d(1);\n}\n}\n",
              "lib/a.c": A}, None),
]

if __name__ == "__main__":
    _tidy.main(check, BAD, build)
