# SPDX-License-Identifier: BSD-2-Clause
"""Shows that every citation in a comment of C has its key in docs/SOURCES.md. By reading what stands in
brackets in all comments: it is a citation if it begins with a key, or looks like the name of a text,
as [ABC12 3.4], [text.md] and [text.h] do, and is no file of ours."""
import os
import re

import _tidy

SOURCES = "docs/SOURCES.md"
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.DOTALL)
# A bracket behind a letter is an index, one before a colon an address with its port.
BRACKET = re.compile(r"(?<![\w\])*\"-])\[([A-Za-z][^\[\]]*)\](?!:)")
FIRST = re.compile(r"[\w.+-]+(\(\d\))?")
LOOKS_CITED = re.compile(r"[A-Z]{2}[A-Za-z]*\d[\w-]*|[\w-]+\.(md|h)")


def keys(tree):
    """The keys of the first table, and the numbers of the one under `## cases`."""
    text = tree.read(SOURCES)
    found = set()
    for cell in re.findall(r"^\| (.+?) \|", text.split("\n## ")[0], re.MULTILINE)[1:]:
        series = re.fullmatch(r"(RFC) (\d+(?:, \d+)*)", cell)
        if series:
            found |= {f"RFC {number}" for number in series.group(2).split(", ")}
        elif "(" not in cell:
            found |= {re.sub(r" (N|NAME)$", "", key) for key in cell.split(", ")}
    cases = text.partition("\n## cases\n")[2]
    return found, set(re.findall(r"^\| (\d+) \|", cases, re.MULTILINE))


def citations(tree):
    """(path, what stands in the brackets) of all that may be citations."""
    for path in tree.c_files():
        for comment in COMMENT.findall(tree.read(path)):
            if comment.startswith("/"):
                comment = re.sub(r"\n[ \t]*\*? ?", " ", comment)
                yield from ((path, words) for words in BRACKET.findall(comment))


def key_of(words, known):
    """The longest key that words begin with, or None."""
    fits = [key for key in known if re.match(re.escape(key) + r"(?![\w.-])", words)]
    return max(fits, key=len, default=None)


def check(tree):
    known, cases = keys(tree)
    ours = {os.path.basename(path) for path in tree.c_files()}
    findings = []
    for path, words in citations(tree):
        key, first = key_of(words, known), FIRST.match(words).group(0)
        # After the key or a comma; [RFC 8200 8.1] has a section, too.
        numbers = re.findall(r"(?:^\w+ |, )(\d+)(?![\d.])", words)
        if not key and LOOKS_CITED.fullmatch(first) and first not in ours:
            findings.append(f"{path}: [{words}]: {SOURCES} has no such key")
        elif key == "cases":
            findings += [f"{path}: [{words}]: {SOURCES} has no case {number}"
                         for number in numbers if number not in cases]
        elif words.startswith("RFC "):
            findings += [f"{path}: [{words}]: {SOURCES} has no RFC {number}"
                         for number in numbers if f"RFC {number}" not in known]
    return findings


TABLE = {SOURCES: "| key | what |\n|---|---|\n| ABC1, abc.md | a |\n| RFC 7, 8 | b |\n"
                  "| NAME(2) | c |\n| cases N | d |\n\n## cases\n\n| n | x |\n|---|---|\n| 1 | e |\n"}
ALL = "/* [ABC1 9.7, table 4] [abc.md 3]\n * [RFC\n * 7, 8] (see [cases 1]) */\n"
BAD = [
    ("unknown", TABLE | {"nic/a.c": ALL + "/* as [XYZ180-4] has it */\n"}, "[XYZ180-4]: docs"),
    ("unknown, .md", TABLE | {"nic/a.c": ALL + "// [other.md 4]\n"}, "[other.md 4]: docs"),
    ("longer", TABLE | {"nic/a.c": ALL + "/* [ABC12] */\n"}, "[ABC12]: docs"),
    ("number", TABLE | {"nic/a.c": ALL + "/* [RFC1071] */\n"}, "[RFC1071]: docs"),
    ("unknown, .h", TABLE | {"nic/a.c": ALL + "/* [other.h mask] */\n"}, "[other.h mask]: docs"),
    ("series", TABLE | {"nic/a.c": ALL + "/* [RFC 8, 9] */\n"}, "has no RFC 9"),
    ("no case", TABLE | {"nic/a.c": ALL + "/* [cases 1, 2] */\n"}, "has no case 2"),
    ("good", TABLE | {"nic/a.c": ALL + "/* a[N12], [A_B2], [a.h x], [lock held], [IPV6]:1, [RFC 8 8.1] */\n"
                                       'char *s = "[XY9]";\n', "nic/a.h": ""}, None),
]

if __name__ == "__main__":
    _tidy.main(check, BAD)
