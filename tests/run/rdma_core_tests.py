# SPDX-License-Identifier: BSD-2-Clause
"""Shows that rdma-core's own test suite, as Debian ships it in python3-pyverbs, runs under `rig5 run`
as docs/CONFORMANCE.md says: exactly as many tests pass, and each that does not is in its table with
the reason, and none that passes. By running all of it; with -k and a pattern behind the build directory, a part, to look at.

No fewer than FLOOR may pass, whatever the document says, and none may end in an error but those of
the connection manager, for which the suite has no word and the NIC nothing.

The table's outcomes: `skipped`; `error`, for what the suite has no word for, or skips by chance;
`depends`, for what is skipped on some machines and passes on others; `root`, for what the suite
tries for root alone: it passes then. These two do not count among those that pass. A row is a pattern of test
names; the first that fits counts."""
import collections
import fnmatch
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SUITE = "/usr/share/doc/rdma-core/tests"
PYTHON = "/usr/bin/python3"  # Debian's own: pyverbs is built for it
TIMEOUT_S = 170
SKIPPED = 77
SECTION = "## rdma-core's own tests"
FLOOR = 180  # what the suite tries for root alone counts
MAY_ERR = ("tests.test_rdmacm.*", "tests.test_mlx5_rdmacm.*")
ALLOWED = {"skipped": ("skipped",), "error": ("error", "skipped"),
           "depends": ("skipped", "passed"),
           "root": ("passed",) if os.geteuid() == 0 else ("skipped",)}


def unpack(target):
    """The suite, out of a package's documentation, where larger files are compressed."""
    for name in os.listdir(SUITE):
        source = os.path.join(SUITE, name)
        if name.endswith(".gz"):
            with gzip.open(source) as packed, open(os.path.join(target, name[:-3]), "wb") as plain:
                shutil.copyfileobj(packed, plain)
        elif os.path.isfile(source):
            shutil.copy(source, target)


def run(build, source, suite, arguments):
    """The suite's outcomes by test, the names of tests that began, and what the suite printed."""
    record = os.path.join(suite, "record")
    command = [os.path.join(build, "rig5"), "run", "--", PYTHON,
               os.path.join(source, "tests/run/_record_tests.py"), record,
               "--dev", "mlx5_0", "-v", *arguments]
    with open(os.path.join(suite, "printed"), "w+b") as printed:
        try:
            subprocess.run(command, cwd=suite, stdin=subprocess.DEVNULL, stdout=printed,
                           stderr=printed, timeout=TIMEOUT_S, check=False)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        printed.seek(0)
        text = printed.read().decode(errors="replace")
    outcomes, started = {}, []
    if os.path.exists(record):
        with open(record, encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if line["outcome"] == "started":
                    started.append(line["test"])
                elif outcomes.get(line["test"], ("",))[0] != "failed":
                    outcomes[line["test"]] = (line["outcome"], line["why"])
    return outcomes, started, text, ended


def expected(source):
    """The number of passes, those that depend left out, and the table's rows: (pattern, outcome, why)."""
    with open(os.path.join(source, "docs/CONFORMANCE.md"), encoding="utf-8") as lines:
        section = lines.read().partition(SECTION)[2].partition("\n## ")[0]
    floor = re.search(r"(\d+) of its (\d+) tests pass", section)
    rows = re.findall(r"^\| `(\S+)` \| (\w+) \| (.+) \|$", section, re.MULTILINE)
    return (int(floor[1]), int(floor[2])) if floor else (None, None), rows


def is_for_root(test, rows):
    row = next((r for r in rows if fnmatch.fnmatchcase(test, "tests." + r[0])), None)
    return row is not None and row[1] == "root"


def required(outcomes, rows, floor):
    """Sentences on what the document cannot allow."""
    passed = sum(outcome == "passed" or (is_for_root(test, rows) and "root" in why)
                 for test, (outcome, why) in outcomes.items())
    if passed < floor:
        yield f"{passed} pass (with those for root), fewer than {floor}"
    for test, (outcome, why) in sorted(outcomes.items()):
        if outcome in ("error", "failed") and \
           not any(fnmatch.fnmatchcase(test, pattern) for pattern in MAY_ERR):
            yield f"{test}: {outcome}: {why}"


def compare(outcomes, floor, rows):
    """Sentences on what is not as the document says."""
    used = collections.Counter()
    for test, (outcome, why) in sorted(outcomes.items()):
        row = next((r for r in rows if fnmatch.fnmatchcase(test, "tests." + r[0])), None)
        if row:
            used[row[0]] += 1
        if not row:
            if outcome != "passed":
                yield f"{test}: {outcome}, and not in the table: {why}"
        elif outcome not in ALLOWED.get(row[1], ()):
            yield f"{test}: {outcome}, but {row[1]} in the table: {why}"
    for pattern, outcome, _ in rows:
        if outcome not in ALLOWED:
            yield f"row {pattern}: no such outcome: {outcome}"
        if not used[pattern]:
            yield f"row {pattern}: no such test"
    passed = sum(outcome == "passed" for outcome, _ in outcomes.values())
    varies = sum(outcome == "passed" for test, (outcome, _) in outcomes.items()
                 if any(fnmatch.fnmatchcase(test, "tests." + r[0]) and r[1] in ("depends", "root")
                        for r in rows))
    if (passed - varies, len(outcomes)) != floor:
        yield f"{passed} of {len(outcomes)} pass; the document says {floor[0]} of {floor[1]}"


def selftest():
    """The comparison itself: each way in which a run can differ from the document is seen."""
    rows = [("test_a.*", "skipped", "x"), ("test_b.B.e", "error", "x"), ("test_c.*", "depends", "x"),
            ("test_e.*", "root", "x")]
    good = {"tests.test_a.A.s": ("skipped", ""), "tests.test_b.B.e": ("error", ""),
            "tests.test_c.C.d": ("skipped", ""), "tests.test_d.D.p": ("passed", ""),
            "tests.test_e.E.r": (ALLOWED["root"][0], "")}
    cases = [
        ({}, 0),
        ({"tests.test_c.C.d": ("passed", "")}, 0),
        ({"tests.test_a.A.s": ("passed", "")}, 2),
        ({"tests.test_a.A.s": ("failed", "")}, 1),
        ({"tests.test_b.B.e": ("failed", "")}, 1),
        ({"tests.test_e.E.r": ("error", "")}, 1),
        ({"tests.test_c.C.d": ("error", "")}, 1),
        ({"tests.test_d.D.p": ("skipped", "")}, 2),
        ({"tests.test_d.D.p": ("error", "")}, 2),
        ({"tests.test_d.D.q": ("passed", "")}, 1),
    ]
    for change, count in cases:
        found = list(compare({**good, **change}, (1, 5), rows))
        assert len(found) == count, (change, found)
    assert len(list(compare({k: v for k, v in good.items() if "_a" not in k}, (1, 4), rows))) == 1


def selftest_required():
    rows = [("test_e.*", "root", "x")]
    good = {"tests.test_d.D.p": ("passed", ""), "tests.test_rdmacm.C.x": ("error", ""),
            "tests.test_e.E.r": ("skipped", "must be run by root")}
    assert not list(required(good, rows, 2))
    assert len(list(required(good, rows, 3))) == 1
    assert len(list(required({**good, "tests.test_e.E.r": ("skipped", "")}, rows, 2))) == 1
    for outcome in ("error", "failed"):
        assert len(list(required({**good, "tests.test_b.B.e": (outcome, "")}, rows, 2))) == 1


def show(outcomes):
    counts = collections.Counter(outcome for outcome, _ in outcomes.values())
    print(f"{counts['passed']} of {len(outcomes)} tests pass")
    print("; ".join(f"{outcome}: {counts[outcome]}"
                    for outcome in ("passed", "skipped", "error", "failed")))
    reasons = collections.Counter(why.splitlines()[0] if why else "" for outcome, why
                                  in outcomes.values() if outcome == "skipped")
    for why, count in reasons.most_common():
        print(f"  {count:3} skipped: {why}")


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.environ["RIG5_BUILD_DIR"])
    source = os.path.abspath(os.environ.get("RIG5_SOURCE_DIR") or
                             os.path.join(os.path.dirname(__file__), "../.."))
    part = sys.argv[2:]
    selftest()
    selftest_required()
    if not os.path.isdir(SUITE):
        print("python3-pyverbs is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="rig5-pyverbs-") as suite:
        unpack(suite)
        outcomes, started, text, ended = run(build, source, suite, part)
    show(outcomes)
    floor, rows = expected(source)
    findings = [] if part else [*compare(outcomes, floor, rows), *required(outcomes, rows, FLOOR)]
    findings += [f"{test}: did not end" for test in started if test not in outcomes]
    if not ended:
        findings.append(f"the suite did not end in {TIMEOUT_S} s")
    if not started:
        findings.append("no test was run")
    for finding in findings:
        print("FAILED:", finding)
    if findings or part:
        print(text)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
