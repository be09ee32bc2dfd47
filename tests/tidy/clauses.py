# SPDX-License-Identifier: BSD-2-Clause
"""Shows that each clause of the contract has a test. By looking up every test that
tests/clauses.tsv names: a line is

    id<TAB>clause in a few words<TAB>executable:function[, executable:function]...

where the executable is a C test (unit.lib_soft_qp: tests/unit/lib_soft_qp_test.c), whose function
must be defined and listed among the program's tests there; or what has no function: a script
(tools.transfer), a fuzz target that replays its corpus (fuzz.packet), or what `make bench` measures
(bench.run). Prints how many clauses there are."""
import collections
import re

import _tidy

TABLE = "tests/clauses.tsv"
SCRIPTS = (".sh", ".py")
WHOLE = (*SCRIPTS, "_fuzz.c", "bench/run")


def source_of(tree, executable):
    """The source file of a test executable, or None."""
    folder, _, name = executable.partition(".")
    paths = [f"tests/{folder}/{name}{s}" for s in ("_test.c", *SCRIPTS)]
    if folder in ("fuzz", "bench"):
        paths = [f"tests/fuzz/{name}_fuzz.c"] if folder == "fuzz" else [f"bench/{name}"]
    for path in paths:
        if tree.has(path):
            return path
    return None


def check_test(tree, test):
    """What is wrong with one `executable:function`, or None."""
    executable, _, function = test.partition(":")
    path = source_of(tree, executable)
    if path is None:
        return f"there is no test program {executable}"
    if path.endswith(WHOLE):
        return f"{path} has no functions: name it alone" if function else None
    if not function:
        return f"{executable}: which function?"
    text = _tidy.without_comments(tree.read(path))
    if not re.search(rf"^static void {re.escape(function)}\(void \*\*state\)", text, re.MULTILINE):
        return f"{path} has no test {function}"
    array = text.partition("struct CMUnitTest")[2]
    if not re.search(rf"\b{re.escape(function)}\b", array):
        return f"{path} does not run {function}"
    return None


def check_line(tree, number, line, seen):
    where = f"{TABLE}:{number}"
    fields = line.split("\t")
    if len(fields) != 3 or not all(f.strip() for f in fields):
        return [f"{where}: not three fields with something in each"]
    name, _, tests = fields
    findings = [f"{where}: {name} was there before"] if name in seen else []
    seen.add(name)
    for test in tests.split(","):
        wrong = check_test(tree, test.strip())
        if wrong:
            findings.append(f"{where}: {name}: {wrong}")
    return findings


def clauses(tree):
    for number, line in enumerate(tree.read(TABLE).splitlines(), 1):
        if line and not line.startswith("#"):
            yield number, line


def check(tree):
    seen, findings = set(), []
    for number, line in clauses(tree):
        findings += check_line(tree, number, line, seen)
    return findings or ([] if seen else [f"{TABLE}: empty"])


TEST = {"tests/unit/a_test.c": "static void one(void **state)\n{\n}\nstatic void two(void **state)\n"
                               "{\n}\nstruct CMUnitTest tests[] = {\n\tcmocka_unit_test(one),\n"
                               "\t/* cmocka_unit_test(two), */\n}\n",
        "tests/tools/b.sh": "#!/bin/bash\n", "tests/fuzz/c_fuzz.c": "", "bench/run": ""}
BAD = [
    ("no program", {**TEST, TABLE: "a.1\tclause\tunit.c:one\n"}, "no test program unit.c"),
    ("no function", {**TEST, TABLE: "a.1\tclause\tunit.a:three\n"}, "no test three"),
    ("not run", {**TEST, TABLE: "a.1\tclause\tunit.a:two\n"}, "does not run two"),
    ("no test", {**TEST, TABLE: "a.1\tclause\t\n"}, "not three fields"),
    ("no function named", {**TEST, TABLE: "a.1\tclause\tunit.a\n"}, "which function"),
    ("twice", {**TEST, TABLE: "a.1\tx\tunit.a:one\na.1\ty\tunit.a:one\n"}, "was there before"),
    ("second of two", {**TEST, TABLE: "a.1\tx\tunit.a:one, unit.a:three\n"}, "no test three"),
    ("empty", {**TEST, TABLE: "# nothing\n"}, "empty"),
    ("no target", {**TEST, TABLE: "a.1\tclause\tfuzz.d\n"}, "no test program fuzz.d"),
    ("function of a target", {**TEST, TABLE: "a.1\tclause\tfuzz.c:one\n"}, "name it alone"),
    ("no benchmark", {**TEST, TABLE: "a.1\tclause\tbench.c\n"}, "no test program bench.c"),
    ("good", {**TEST, TABLE: "# x\na.1\tclause\tunit.a:one, tools.b\na.2\tclause\tfuzz.c, bench.run\n"},
     None),
]

if __name__ == "__main__":
    import os
    ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    KINDS = collections.Counter(l.split(".")[0] for _, l in clauses(_tidy.Tree(ROOT)))
    print(f"{sum(KINDS.values())} clauses:", ", ".join(f"{n} {k}" for k, n in KINDS.items()))
    _tidy.main(check, BAD)
