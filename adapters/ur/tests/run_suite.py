#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of Unified Runtime's conformance suite, which somebody built, and counts what they say.

run_suite.py FOLDER [--json FILE] [--timeout SECONDS] [--only NAME,...]

FOLDER has the suite's GoogleTest programs (*-test), built as the suite's own instructions say. Each group of cases is a
run of its own, and where one of those crashes each case is, so that a crash costs one case. Cases that fail because the
suite was built without a device compiler, so that the files of its device code aren't there, are counted apart.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

NO_DEVICE_CODE = "failed opening kernel path"


def list_cases(program):
    """The groups of a program, each with the names of its cases."""
    listing = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, timeout=600, check=False)
    if listing.returncode != 0:
        raise RuntimeError(f"{program}: can't list its cases: {listing.stderr.strip()}")
    groups = collections.OrderedDict()
    group = None
    for line in listing.stdout.splitlines():
        name = line.split("#")[0].rstrip()
        if not name or name.startswith("<"):
            continue
        if name.startswith("  "):
            groups[group].append(group + name.strip())
        elif name.endswith("."):
            group = name
            groups[group] = []
    return groups


def run(program, selection, timeout):
    """Runs what `selection` names; the results by case, or None with the output if the program died."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        command = [program, f"--gtest_filter={selection}", f"--gtest_output=xml:{report}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
            output = done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            return None, f"it didn't end within {timeout} seconds"
        if not report.exists():
            return None, f"it ended with {done.returncode}\n" + output
        return results_of(report), output


def results_of(report):
    results = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        failures = [failure.get("message", "") for failure in case.findall("failure")]
        name = f"{case.get('classname')}.{case.get('name')}"
        if failures:
            text = "\n".join(failures)
            results[name] = ("no device code" if NO_DEVICE_CODE in text else "failed", text)
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            results[name] = ("skipped", "")
        else:
            results[name] = ("passed", "")
    return results


def run_alone(program, cases, timeout):
    results = {}
    for case in cases:
        outcome, output = run(program, case, timeout)
        if outcome is None:
            state = "no device code" if NO_DEVICE_CODE in output else "failed"
            outcome = {case: (state, "the program died: " + output[-1500:])}
        results.update(outcome)
    return results


def run_program(program, timeout):
    results = {}
    for group, cases in list_cases(program).items():
        outcome, _ = run(program, group + "*", timeout)
        results.update(run_alone(program, cases, timeout) if outcome is None else outcome)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, help="write all results there")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a group of cases")
    parser.add_argument("--only", default="", help="names of programs, commas between them")
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    programs = sorted(path for path in options.folder.rglob("*-test") if path.is_file() and os.access(path, os.X_OK))
    programs = [path for path in programs if not only or path.name in only]
    if not programs:
        sys.exit(f"{options.folder}: there are no programs *-test in it; build the suite as it says itself")
    everything = {}
    totals = collections.Counter()
    for program in programs:
        results = run_program(str(program), options.timeout)
        counts = collections.Counter(state for state, _ in results.values())
        totals.update(counts)
        everything[program.name] = results
        print(f"{program.name}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, "
              f"{counts['no device code']} want device code", flush=True)
        for name, (state, text) in results.items():
            if state == "failed":
                print(f"  FAILED {name}: {' '.join(text.split())[:300]}")
    ran = totals["passed"] + totals["failed"]
    share = 100 * totals["passed"] / ran if ran else 0
    print(f"suite: {totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped by itself, "
          f"{totals['no device code']} want device code: {share:.1f} % of {ran}")
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
