#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges a run of dpctl's tests: check_dpctl.py JUNIT.xml KNOWN_FAILURES.txt LEAST_PERCENT LEAST_NUMBER

Writes a line with the counts. Fails if too few run or pass, or if a test fails that has no reason in the list."""
import re
import sys
import xml.etree.ElementTree as ElementTree


def known_reasons(path):
    reasons = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, separator, reason = line.partition("|")
            if separator and not line.startswith("#"):
                reasons[name.strip()] = reason.strip()
    return reasons


def main():
    junit, known, least = sys.argv[1], known_reasons(sys.argv[2]), float(sys.argv[3])
    least_number = int(sys.argv[4])
    passed, skipped, failed, unknown = 0, 0, [], []
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            skipped += 1
        elif case.find("failure") is not None or case.find("error") is not None:
            failed.append(case.get("name"))
        else:
            passed += 1
    for name in failed:
        if re.sub(r"\[.*", "", name) not in known:
            unknown.append(name)
    ran = passed + len(failed)
    share = 100 * passed / ran if ran else 0
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped by themselves: {share:.1f} %")
    for name in unknown:
        print(f"  without a known reason: {name}")
    sys.exit(0 if ran >= least_number and share >= least and not unknown else 1)


if __name__ == "__main__":
    main()
