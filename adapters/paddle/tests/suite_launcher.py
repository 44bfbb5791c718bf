# SPDX-License-Identifier: Apache-2.0
"""Runs one file of a test suite of Paddle's as `python FILE` would, with a line for each of its cases as soon as it is over.

    suite_launcher.py FILE PLACE     PLACE is a device type of a plug-in's, or cpu

On cpu, what the file says of a custom device means the CPU: the same case on Paddle's own device, to tell whose a failure is."""
import json
import os
import runpy
import sys
import unittest


class Lines(unittest.TestResult):
    """A line "CASE [id, outcome, reason]" for each."""

    def say(self, case, outcome, reason=""):
        print("CASE", json.dumps([case.id().removeprefix("__main__."), outcome, reason]), flush=True)

    def startTest(self, case):
        super().startTest(case)
        print("BEGIN", json.dumps(case.id().removeprefix("__main__.")), flush=True)

    def addSuccess(self, case):
        self.say(case, "passed")

    def addError(self, case, error):
        self.say(case, "failed", self.last_line(error))

    def addFailure(self, case, error):
        self.say(case, "failed", self.last_line(error))

    def addSubTest(self, case, part, error):
        if error is not None:
            self.say(case, "failed", self.last_line(error))

    def addSkip(self, case, reason):
        self.say(case, "skipped", reason)

    @staticmethod
    def last_line(error):
        text = " ".join(f"{error[0].__name__}: {error[1]}".split())
        return text[:300]


def run_cases(*_arguments, **_options):
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    suite.run(Lines())
    sys.exit(0)


def main(path, place):
    import paddle

    if place == "cpu":

        class CpuInstead:
            def __new__(cls, *_):
                return paddle.CPUPlace()

        for module in (paddle, paddle.base, paddle.base.core):
            module.CustomPlace = CpuInstead
        set_device = paddle.set_device
        paddle.set_device = lambda _: set_device("cpu")
    unittest.main = run_cases
    if os.path.basename(os.path.dirname(path)) == "legacy_test":
        # Paddle's own tests ask their base class for the places; the others set it themselves.
        import op_test

        op_test.OpTest._get_places = lambda self: [paddle.CustomPlace(place, 0)]
        paddle.set_device(place)
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
