# SPDX-License-Identifier: BSD-2-Clause
"""Shows that librig5.so exports what include/rig5.h declares, all of it and nothing else. By nm -D
on one side, and the header's declarations without comments and bodies on the other."""
import glob
import os
import re
import subprocess

import _tidy

HEADER = "include/rig5.h"


def exported(path):
    out = subprocess.run(["nm", "-D", "-P", "--defined-only", path], check=True,
                         capture_output=True, text=True).stdout
    symbols = [line.split()[:2] for line in out.splitlines()]
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
    if not tree.has(HEADER):
        return []
    library = os.path.join(tree.build, "librig5.so")
    if not os.path.exists(library):
        return [f"{library} is missing"]
    there, said = exported(library), declared(tree.read(HEADER))
    findings = [f"librig5.so exports {n}; only rig_* may be" for n in sorted(there)
                if not n.startswith("rig_")]
    findings += [f"librig5.so exports {n}, which {HEADER} does not declare"
                 for n in sorted(there - said)]
    findings += [f"{HEADER} declares {n}, which librig5.so does not export"
                 for n in sorted(said - there)]
    return findings


def build(root):
    os.makedirs(f"{root}/build", exist_ok=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{root}/build/librig5.so",
                    *glob.glob(f"{root}/lib/*.c")], check=True)


A = "int rig_a(void) { return 1; }\n"
BAD = [
    ("private", {HEADER: "int rig_a(void);\n", "lib/a.c": A + "int lib_b(void) { return 1; }\n"},
     "exports lib_b; only rig_*"),
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
