# SPDX-License-Identifier: BSD-2-Clause
"""Shows that each function of the public header is documented: a comment stands right above it, or
above the group that it is in, and names it; where the function returns an int the comment says what
that is. And that the header's head says what holds for all: errors, threads, ownership, cost, source."""
import re

import _tidy

HEADER = "include/rig5.h"
PART = "include/rig5_stats.h"  # that it includes
HEAD = ("Errors.", "Threads.", "Ownership.", "Cost.", "Source.")
PROTOTYPE = re.compile(r"^(int|const char \*|u?int\d+_t) ?\*?(rig_\w+)\(", re.MULTILINE)
RETURNS = re.compile(r"-E[A-Z]+|\breturns\b|-errno", re.IGNORECASE)


def comment_above(text, at):
    """The comment that ends right above the block of lines which holds offset at, or None."""
    start = text.rfind("\n\n", 0, at)
    block = text[start + 2:at] if start >= 0 else text[:at]
    match = re.search(r"/\*(.*)\*/", block, re.DOTALL)
    return match.group(1) if match else None


def check(tree):
    text = tree.read(HEADER)
    head = text.partition("#ifndef")[0]
    findings = [f"{HEADER}: the head has no '{word}'" for word in HEAD if word not in head]
    findings += check_functions(HEADER, text)
    if tree.has(PART):
        findings += check_functions(PART, tree.read(PART))
    return findings


def check_functions(path, text):
    findings = []
    functions = list(PROTOTYPE.finditer(text))
    for match in functions:
        kind, name = match.groups()
        comment = comment_above(text, match.start())
        if comment is None:
            findings.append(f"{path}: {name} has no comment above it")
        elif name not in comment:
            findings.append(f"{path}: the comment above {name} does not name it")
        elif kind == "int" and not RETURNS.search(comment):
            findings.append(f"{path}: what does {name} return?")
    return findings or ([] if functions else [f"{path}: no function"])


TOP = "/* Errors. Threads. Ownership. Cost. Source. */\n#ifndef X\n\n"
BAD = [
    ("head", {HEADER: "/* Errors. */\n#ifndef X\n"}, "no 'Cost.'"),
    ("none", {HEADER: TOP}, "no function"),
    ("bare", {HEADER: TOP + "int rig_a(void);\n"}, "rig_a has no comment"),
    ("another's", {HEADER: TOP + "/* rig_b - 0. */\n\nint rig_a(void);\n"}, "rig_a has no comment"),
    ("unnamed", {HEADER: TOP + "/* Nothing. */\nint rig_a(void);\n"}, "does not name it"),
    ("silent", {HEADER: TOP + "/* rig_a - acts. */\nint rig_a(void);\n"}, "what does rig_a return"),
    ("a part's", {HEADER: TOP + "/* rig_b - 0, or -EINVAL. */\nint rig_b(void);\n",
                  PART: "int rig_a(void);\n"}, "rig_a has no comment"),
    ("good", {HEADER: TOP + "/*\n * rig_a - 0, or -EINVAL. rig_b: words.\n */\nint rig_a(void);\n"
                            "const char *rig_b(int a);\n"}, None),
]

if __name__ == "__main__":
    _tidy.main(check, BAD)
