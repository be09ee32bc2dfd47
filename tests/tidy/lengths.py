# SPDX-License-Identifier: BSD-2-Clause
"""Shows that functions, files and lines of C stay short: 70 lines, 800 lines, 100 columns with tabs
of 8. By counting; tests/tidy/long_functions lists the functions that are longer, with their length.
The list only shrinks: an entry with another length than the function has is a finding."""
import re

import _tidy

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 800
COLUMNS_MAX = 100
LIST = "tests/tidy/long_functions"


def functions(text):
    """(name, line number, lines from brace to brace) of each function: both braces in column 0."""
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line.startswith("}") and start is not None:
            yield name_above(lines, start), start + 1, number - start + 1
            start = None


def name_above(lines, brace):
    """The name of the function whose opening brace is lines[brace]."""
    for number in range(brace - 1, -1, -1):
        match = re.match(r"\S.*?(\w+)\(", lines[number])
        if match:
            return match.group(1)
    return "?"


def listed(tree):
    """{(path, name): length} of the exception list."""
    entries = {}
    if tree.has(LIST):
        for line in tree.read(LIST).splitlines():
            if line.strip() and not line.startswith("#"):
                path, name, length = line.split()
                entries[path, name] = int(length)
    return entries


def check(tree):
    findings = []
    entries = listed(tree)
    for path in tree.c_files():
        text = tree.read(path)
        findings += check_lines(path, text)
        for name, number, length in functions(text):
            allowed = entries.pop((path, name), None)
            if length > FUNCTION_LINES_MAX and allowed is None:
                findings.append(f"{path}:{number}: {name} has {length} lines; "
                                f"{FUNCTION_LINES_MAX} at most")
            elif allowed is not None and length > allowed:
                findings.append(f"{path}:{number}: {name} grew from {allowed} to {length} lines")
            elif allowed is not None and length != allowed:
                new = length if length > FUNCTION_LINES_MAX else "none"
                findings.append(f"{LIST}: {path} {name} is {length} lines now: its entry is {new}")
    findings += [f"{LIST}: {path} {name} is gone" for path, name in entries]
    return findings


def check_lines(path, text):
    lines = text.splitlines()
    findings = []
    if len(lines) > FILE_LINES_MAX:
        findings.append(f"{path}: {len(lines)} lines; {FILE_LINES_MAX} at most")
    for number, line in enumerate(lines, 1):
        columns = len(line.expandtabs(8))
        if columns > COLUMNS_MAX:
            findings.append(f"{path}:{number}: {columns} columns; {COLUMNS_MAX} at most")
        if re.match(r"(static|int|void|bool|struct|enum|uint\w+)\b[^=;]*\)\s*\{$", line):
            findings.append(f"{path}:{number}: a function's brace has its own line")
    return findings


def function(lines, name="f"):
    return f"static int {name}(int a,\n\t\tint b)\n{{\n" + "\ta++;\n" * (lines - 2) + "}\n"


BAD = [
    ("long function", {"nic/a.c": function(71)}, "nic/a.c:3: f has 71 lines"),
    ("long file", {"nic/a.c": "\n" * 801}, "nic/a.c: 801 lines"),
    ("wide line", {"nic/a.c": "\t" * 12 + "abcde\n"}, "nic/a.c:1: 101 columns"),
    ("brace", {"nic/a.c": "static int f(void) {\n}\n"}, "own line"),
    ("grew", {"nic/a.c": function(80), LIST: "nic/a.c f 79\n"}, "f grew from 79 to 80"),
    ("shrank", {"nic/a.c": function(75), LIST: "nic/a.c f 79\n"}, "its entry is 75"),
    ("not needed", {"nic/a.c": function(70), LIST: "nic/a.c f 79\n"}, "its entry is none"),
    ("gone", {"nic/a.c": function(9), LIST: "nic/a.c g 79\n"}, "g is gone"),
    ("good", {"nic/a.c": function(70) + function(75, "g") + "\t" * 12 + "abcd\n",
              LIST: "# why\nnic/a.c g 75\n"}, None),
]

if __name__ == "__main__":
    _tidy.main(check, BAD)
