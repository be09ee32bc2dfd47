# SPDX-License-Identifier: BSD-2-Clause
"""Shows that the data path has no locked instruction, no full fence and no call to a lock. By
disassembling the objects of post.c, srq_post.c, poll.c and entry.c, all of whose code is the data path but for
what it calls on errors, and rig_cq_arm of cq.c."""
import glob
import os
import re
import subprocess
import sys

LOCKED = re.compile(r"\b(lock\b|xchg\b.*\(|mfence|lfence|sfence|syscall|sysenter|int\s+\$)")
CALLS = re.compile(r"\b(pthread_|malloc|calloc|realloc|free\b|futex|sched_|__tls_get_addr)")
OBJECTS = ("post.c", "poll.c", "entry.c", "srq_post.c")
FUNCTIONS = (("cq.c", "rig_cq_arm"),)


def findings(text):
    """Offending lines of a disassembly with relocations."""
    found = []
    for line in text.splitlines():
        code = line.split("\t", 1)[1] if "\t" in line else ""
        # Padding: "xchg %ax,%ax" has no memory operand.
        if LOCKED.search(code) or CALLS.search(code):
            found.append(line.strip())
    return found


def disassemble(path, function):
    """Of the whole object, or of one function: from its label to the next."""
    text = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", path], check=True,
                          capture_output=True, text=True).stdout
    if function is None:
        return text
    match = re.search(rf"^\w+ <{function}>:\n.*?(?=^\w+ <|\Z)", text, re.DOTALL | re.MULTILINE)
    return match.group(0) if match else ""


def self_test():
    good = "  10:\tmov    %eax,(%rdi)\n  12:\txchg   %ax,%ax\n  14:\tcall   19\n"
    bad = ["  10:\tlock cmpxchg %edx,(%rdi)\n", "  10:\txchg   %eax,(%rdi)\n", "  10:\tmfence\n",
           "  10:\tcall   15\n\t\t\t11: R_X86_64_PLT32\tpthread_mutex_lock-0x4\n",
           "  10:\tsyscall\n"]
    assert not findings(good), "a good text is refused"
    for text in bad:
        assert findings(text), f"not seen: {text}"


def main():
    self_test()
    if os.uname().machine != "x86_64":
        print("not an x86-64 machine")
        sys.exit(77)
    if os.environ.get("RIG5_SANITIZE"):
        print("a sanitizer's build has calls of its own")
        sys.exit(77)
    build = sys.argv[1]
    wrong = 0
    for name, function in [(name, None) for name in OBJECTS] + list(FUNCTIONS):
        paths = glob.glob(f"{build}/CMakeFiles/rig5_lib.dir/lib/{name}.o")
        if not paths:
            print(f"no object of {name} in {build}")
            wrong += 1
            continue
        text = disassemble(paths[0], function)
        if not re.search(r"<(rig_|lib_)\w+>:", text):
            print(f"{paths[0]}: no function of ours in it")
            wrong += 1
        for line in findings(text):
            print(f"{name}: {line}")
            wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
