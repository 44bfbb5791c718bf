#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a PaddleCustomDevice checkout on the plug-in, as device type custom_cpu.

    run_suite.py FOLDER [--jobs N] [--timeout SECONDS] [--markdown FILE]

FOLDER is a checkout of github.com/PaddlePaddle/PaddleCustomDevice. Run are backends/custom_cpu/tests/unittests/test_*.py, and, of the
Paddle sources below FOLDER/Paddle, whose test/ they take their base classes from, the newer tests of the same operators
(Paddle/test/legacy_test). A file with a failure is run again on Paddle's own CPU: what fails there in the same way is between the
suite and the wheel, and no plug-in's. Exit status 1 if a case fails that passes on the CPU."""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHER = os.path.join(HERE, "suite_launcher.py")
TYPE = "custom_cpu"
# The operators that backends/custom_cpu tests, as Paddle's own tests call them.
OPERATORS = ["arg_min_max", "argsort", "assign_value", "cast", "compare", "concat", "elementwise_add", "elementwise_mul", "elementwise_sub",
             "fill_constant", "gather", "matmul_v2", "mean", "reduce", "reshape", "scatter", "sgd", "slice", "softmax", "split", "stack",
             "transpose", "unsqueeze", "where"]


def run_file(path, place, options):
    """{case: (outcome, reason)}; what can't be begun is a case by the file's name."""
    environment = dict(os.environ, ANYPLACE_PADDLE_TYPE=TYPE, ANYPLACE_CPU_SIM_MEMORY="16GiB", GLOG_minloglevel="2", PYTHONDONTWRITEBYTECODE="1")
    tests = os.path.join(options.folder, "Paddle", "test")
    environment["PYTHONPATH"] = ":".join([os.path.join(options.folder, "python"), os.path.join(options.folder, "python", "tests"), tests,
                                          os.path.join(tests, "legacy_test")])
    if place == "cpu":
        environment["CUSTOM_DEVICE_ROOT"] = ""
    try:
        done = subprocess.run([sys.executable, LAUNCHER, path, place], cwd=os.path.dirname(path), env=environment, capture_output=True,
                              text=True, errors="replace", timeout=options.timeout)
        status, output, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        status, output, errors = -1, (late.stdout or b"").decode(errors="replace"), f"stopped after {options.timeout} s"
    results, begun = {}, None
    for line in output.splitlines():
        if line.startswith("BEGIN "):
            begun = json.loads(line[6:])
        elif line.startswith("CASE "):
            case, outcome, reason = json.loads(line[5:])
            if results.get(case, ("passed",))[0] == "passed":
                results[case] = (outcome, reason)
    if status != 0:
        is_within = begun is not None and begun not in results  # it went down with the case that it was in
        last = " ".join((errors.strip().splitlines() or [""])[-1].split())
        reason = f"the process ended with status {status} in it" if is_within and status != -1 else last or f"exit status {status}"
        results[begun if is_within else os.path.basename(path)] = ("failed", reason[:300])
    return results


def family(reason):
    """What reasons have in common: their first words, without the numbers and the device's name."""
    for ours, cpu in ((f"Place({TYPE}:0)", "Place(cpu)"), (f"({TYPE}, ", "(CPU, "), (HERE + os.sep, "")):
        reason = reason.replace(ours, cpu)
    return "".join("N" if character.isdigit() else character for character in reason)[:105]


def compare(path, options):
    """(path, {case: (outcome, reason)}): outcome is passed, skipped, "on the CPU, too" or failed."""
    here = run_file(path, TYPE, options)
    if any(outcome == "failed" for outcome, _ in here.values()):
        cpu = run_file(path, "cpu", options)
        for case, (outcome, reason) in here.items():
            other = cpu.get(case, ("passed", ""))
            if outcome == "failed" and other[0] == "failed" and family(reason) == family(other[1]):
                here[case] = ("on the CPU, too", reason)
    return path, here


def files_of(options):
    own = sorted(glob.glob(os.path.join(options.folder, "backends", "custom_cpu", "tests", "unittests", "test_*.py")))
    newer = [os.path.join(options.folder, "Paddle", "test", "legacy_test", f"test_{name}_op.py") for name in OPERATORS]
    return own, [path for path in newer if os.path.exists(path)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for a file")
    parser.add_argument("--markdown", help="where to write a table and the reasons")
    options = parser.parse_args()
    own, newer = files_of(options)
    if not own:
        print(f"run_suite: {options.folder} is no checkout of PaddleCustomDevice: it has no backends/custom_cpu/tests/unittests", file=sys.stderr)
        return 2
    if not newer:
        print("run_suite: Paddle/ is empty there (git submodule update --init): what needs Paddle's own op_test.py can't run", file=sys.stderr)
    lines, total, reasons = [], collections.Counter(), collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, results in pool.map(lambda path: compare(path, options), own + newer):
            counts = collections.Counter(outcome for outcome, _ in results.values())
            total.update(counts)
            name = os.path.relpath(path, options.folder)
            for outcome, reason in results.values():
                if outcome in ("failed", "on the CPU, too"):
                    reasons[outcome][family(reason)] += 1
            print(f"{name}: {counts['passed']} passed, {counts['failed']} failed, {counts['on the CPU, too']} fail on the CPU, too, "
                  f"{counts['skipped']} skipped", flush=True)
            for case, (outcome, reason) in results.items():
                if outcome == "failed":
                    print(f"    failed: {case}: {reason}", flush=True)
            lines.append(f"| {name} | {counts['passed']} | {counts['failed']} | {counts['on the CPU, too']} | {counts['skipped']} |")
    summary = f"{total['passed']} passed, {total['failed']} failed, {total['on the CPU, too']} fail on Paddle's own CPU, too, {total['skipped']} skipped"
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            print("| file | passed | failed here only | fail on the CPU, too | skipped |\n|---|---|---|---|---|", *lines, "", summary + ".", sep="\n", file=file)
            for outcome, title in (("failed", "Failed here only"), ("on the CPU, too", "Failed on the CPU, too: between the suite and this wheel")):
                if reasons[outcome]:
                    print(f"\n{title}:\n", file=file)
                    for reason, count in reasons[outcome].most_common():
                        print(f"- {count}: `{reason.replace('`', '')}`", file=file)
    print(summary)
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
