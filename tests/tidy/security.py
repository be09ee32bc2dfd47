# SPDX-License-Identifier: BSD-2-Clause
"""Shows that each test that docs/security.md names as `folder.test: function` exists and has that
function, and that each claim (a list item that starts in bold) names one. By looking for them."""
import re

import _tidy

PAGE = "docs/security.md"
NAMED = re.compile(r"`([a-z]+)\.([a-z0-9_]+):\s+(\w+)`")
ITEM = re.compile(r"^- \*\*(.*?)\*\*.*?(?=^- |^\S|\Z)", re.MULTILINE | re.DOTALL)


def sources(tree, folder, name):
    """The files of a test: its program or script, for a fuzz target what the targets share."""
    ends = ("_fuzz.c",) if folder == "fuzz" else ("_test.c", ".sh", ".py")
    found = [f"tests/{folder}/{name}{end}" for end in ends]
    shared = ["tests/fuzz/fuzz_world.h"] if folder == "fuzz" else []
    found = [path for path in found if tree.has(path)]
    return found and found + [path for path in shared if tree.has(path)]


def check(tree):
    findings = []
    text = tree.read(PAGE) if tree.has(PAGE) else ""
    for folder, name, function in NAMED.findall(text):
        files = sources(tree, folder, name)
        if not files:
            findings.append(f"{PAGE}: there is no test {folder}.{name}")
        elif not any(re.search(rf"\b{function}\b", tree.read(path)) for path in files):
            findings.append(f"{PAGE}: {folder}.{name} has no {function}")
    for item in ITEM.finditer(text):
        if not NAMED.search(item.group(0)):
            findings.append(f"{PAGE}: '{item.group(1)}' names no test")
    if tree.has("README.md") and not NAMED.search(text):
        findings.append(f"{PAGE}: names no test at all")
    return findings


TEST = {"tests/unit/a_test.c": "static void test_b(void **state)\n"}
BAD = [
    ("no test", TEST | {PAGE: "- **x**: y `unit.c: test_b`\n"}, "no test unit.c"),
    ("no function", TEST | {PAGE: "- **x**: y `unit.a: test_c`\n"}, "unit.a has no test_c"),
    ("claim alone", TEST | {PAGE: "- **x**: y\n- **z**: `unit.a: test_b`\n"}, "'x' names no test"),
    ("nothing", {"README.md": "a\n", PAGE: "text\n"}, "names no test at all"),
    ("good", TEST | {PAGE: "- **x**: y\n  `unit.a: test_b`\n"}, None),
]

if __name__ == "__main__":
    _tidy.main(check, BAD)
