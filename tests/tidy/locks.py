# SPDX-License-Identifier: BSD-2-Clause
"""Shows that the data path of the library takes no lock: no locked instruction in the functions that
post, ring and poll. By disassembling their objects (x86-64); the slow paths, which gcc puts into
.text.unlikely, are left out."""
import os
import platform
import re
import subprocess
import sys

import _tidy

OBJECTS = ("lib/post.c", "lib/entry.c", "lib/poll.c")
WANTED = ("rig_qp_post", "rig_qp_ring", "rig_qp_receive", "rig_cq_poll")
# `lock` prefixes, and exchanges with memory, which are locked without one.
LOCKED = re.compile(r"\t(lock\b.*|xchg\b.*\(.*)$")


def findings_in(text, path):
    """(findings, functions seen) of one object's disassembly."""
    found, seen, name = [], set(), "?"
    for line in text.splitlines():
        start = re.match(r"[0-9a-f]+ <(.+)>:", line)
        if start:
            name = start.group(1)
            seen.add(name)
        locked = LOCKED.search(line)
        if locked:
            found.append(f"{path}: {name}: {locked.group(1).strip()}")
    return found, seen


def check_text(objects):
    """Findings of {path: disassembly}."""
    findings, seen = [], set()
    for path, text in objects.items():
        found, names = findings_in(text, path)
        findings += found
        seen |= names
    return findings + [f"{name}: not in the objects" for name in WANTED if name not in seen]


def disassembly(build, path):
    obj = os.path.join(build, "CMakeFiles", "rig5_lib.dir", path + ".o")
    run = subprocess.run(["objdump", "-d", "-j", ".text", "--no-show-raw-insn", obj],
                         stdout=subprocess.PIPE, check=True, text=True)
    return run.stdout


def self_test():
    good = "\n".join(f"0 <{name}>:\n 0:\tmov (%rax),%rdx\n 4:\txchg %ax,%ax" for name in WANTED)
    wrong = []
    if check_text({"a": good}):
        wrong.append("self-test: refused a good object")
    for bad in ("\tlock xadd %eax,(%rdx)", "\txchg %eax,(%rdx)", "\tlock cmpxchg %rcx,(%rdx)"):
        if not check_text({"a": good + "\n 8:" + bad}):
            wrong.append(f"self-test: let {bad.strip()} pass")
    if not check_text({"a": good.replace("rig_cq_poll", "other")}):
        wrong.append("self-test: a function may be missing")
    return wrong


if __name__ == "__main__":
    if platform.machine() != "x86_64" or os.environ.get("RIG5_SANITIZE"):
        sys.exit(_tidy.SKIPPED)
    RESULT = self_test() + check_text({p: disassembly(sys.argv[1], p) for p in OBJECTS})
    print("\n".join(RESULT), end="\n" if RESULT else "")
    sys.exit(1 if RESULT else 0)
