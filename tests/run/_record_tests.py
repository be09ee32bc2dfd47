# SPDX-License-Identifier: BSD-2-Clause
"""Runs rdma-core's own test suite, unchanged, and records each test's outcome.

python3 _record_tests.py RECORD ARGUMENT... in the directory of the suite's run_tests.py, with its
arguments. RECORD gets a line of JSON when a test starts and one when it has ended, at once, so that
it can be told which one hung or died."""
import json
import os
import runpy
import sys
import unittest


class Recorder(unittest.TextTestResult):
    record = None

    def note(self, test, outcome, why=""):
        self.record.write(json.dumps({"test": test.id(), "outcome": outcome, "why": why}) + "\n")
        self.record.flush()

    def startTest(self, test):
        super().startTest(test)
        self.note(test, "started")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "passed")

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "error", f"{err[0].__name__}: {err[1]}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failed", f"{err[0].__name__}: {err[1]}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note(test, "passed", "failed as expected")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "failed", "expected to fail")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(test, "failed", f"{subtest}: {err[1]}")


Recorder.record = open(sys.argv[1], "w", encoding="utf-8")
unittest.TextTestRunner.resultclass = Recorder
sys.argv = ["run_tests.py", *sys.argv[2:]]
sys.path[0] = os.getcwd()
runpy.run_path(os.path.abspath("run_tests.py"), run_name="__main__")
