# SPDX-License-Identifier: Apache-2.0
"""pytest --anyplace: fixtures on the backend that the command line names."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import anyplace

TESTS = """
import pytest
import anyplace
from anyplace import compat

kept = []

def test_devices(anyplace_devices, anyplace_device):
    assert [each.place for each in anyplace_devices] == ["cpu_sim:0", "cpu_sim:1", "cpu_sim:2"]
    assert anyplace_device == anyplace_devices[0] and compat.backend() == "cpu_sim"

def test_clean(anyplace_leaks, anyplace_stream):
    anyplace_stream.fill(anyplace.Buffer(anyplace_stream, 64), 1)

def test_leak(anyplace_leaks, anyplace_stream):
    kept.append(anyplace.Buffer(anyplace_stream, 1000))

def test_fault(anyplace_stream):
    anyplace_stream.launch_host_func(lambda: 1 // 0)
"""


@pytest.fixture
def pytest_run(tmp_path):
    def running(*options):
        (tmp_path / "test_it.py").write_text(TESTS)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        # A package that is installed has it as an entry point, and naming it again would be an error.
        if not any(each.value == "anyplace.pytest_plugin" for each in entry_points(group="pytest11")):
            command += ["-p", "anyplace.pytest_plugin"]
        environment = {name: value for name, value in os.environ.items() if name != "ANYPLACE_CPU_SIM_DEVICES"}
        environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(anyplace.__file__))
        return subprocess.run(
            [*command, *options, "test_it.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return running


def test_the_fixtures_are_of_the_backend_that_is_named(pytest_run):
    result = pytest_run("--anyplace", "cpu_sim:3")
    assert re.search(r"\b4 passed, 2 errors\b", result.stdout), result.stdout + result.stderr
    assert re.search(r"leaves \d+ bytes of cpu_sim:0 allocated", result.stdout)
    assert "ZeroDivisionError" in result.stdout


@pytest.mark.parametrize("bad", ["cpu_sim:0", "cpu_sim:", "CPU", "cpu_sim:x", ""])
def test_a_bad_option_says_what_is_right(pytest_run, bad):
    result = pytest_run("--anyplace", bad)
    assert result.returncode == 4 and "such as cpu_sim:2" in result.stderr, result.stdout + result.stderr


def test_a_backend_without_a_device_skips(pytest_run):
    result = pytest_run("--anyplace", "nothing_like_it")
    assert re.search(r"\b4 skipped\b", result.stdout), result.stdout + result.stderr
