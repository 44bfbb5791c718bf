# SPDX-License-Identifier: Apache-2.0
"""The plugin for pytest, in runs of their own."""

import importlib.metadata
import os
import re
import subprocess
import sys

import pytest

# Where the package is installed pytest finds the plugin by itself, and takes it once.
INSTALLED = list(importlib.metadata.entry_points(group="pytest11", name="anyplace"))
PYTEST = [sys.executable, "-m", "pytest", *([] if INSTALLED else ["-p", "anyplace.pytest_plugin"])]


@pytest.fixture
def run_tests(tmp_path, place):
    def run(source, *options):
        (tmp_path / "test_it.py").write_text("import anyplace, pytest\n" + source)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANYPLACE_CPU_SIM")}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        return subprocess.run(
            [*PYTEST, "-q", "-p", "no:cacheprovider", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            check=False,
        ).stdout

    return run


USES = """
def test_uses(anyplace_device, anyplace_stream):
    anyplace_stream.fill(anyplace.Buffer(anyplace_stream, 64), 1)
    assert anyplace_stream.device == anyplace_device
"""


def test_tests_run_on_each_place_that_is_given(run_tests):
    out = run_tests(USES, "--anyplace", "cpu_sim:0", "--anyplace", "cpu_sim:2", "-vv")
    assert "test_uses[cpu_sim:0] PASSED" in out and "test_uses[cpu_sim:2] PASSED" in out, out
    assert "1 skipped" in run_tests(USES) and "no device" in run_tests(USES, "-rs")
    assert "1 passed, 1 deselected" in run_tests(
        USES + "def test_other(): pass\n", "--anyplace", "cpu_sim", "-m", "cpu_sim", "--strict-markers"
    )


def test_a_test_is_for_the_backends_that_it_names(run_tests):
    source = "@pytest.mark.anyplace('cuda', 'hip')\ndef test_it(anyplace_device): pass\n"
    out = run_tests(source, "--anyplace", "cpu_sim:0", "-rs", "--strict-markers")
    assert "1 skipped" in out and "the test is for cuda, hip" in out, out


def test_devices_and_memory_are_simulated(run_tests):
    out = run_tests(
        """
def test_devices(anyplace_devices):
    assert len(anyplace_devices) == 4 and anyplace_devices[0].index == 1
def test_memory(anyplace_device, anyplace_stream):
    assert anyplace_device.memory_info()[1] == 64 << 20
    with pytest.raises(MemoryError):
        anyplace.Buffer(anyplace_stream, 65 << 20)
def test_limit(anyplace_stream, anyplace_limit_memory):
    anyplace_limit_memory(4 << 20)
    with pytest.raises(MemoryError):
        anyplace.Buffer(anyplace_stream, 5 << 20)
    with pytest.raises(ValueError, match="nbytes"):
        anyplace_limit_memory(1 << 50)
def test_no_limit(anyplace_stream):
    anyplace.Buffer(anyplace_stream, 5 << 20)
""",
        *("--anyplace", "cpu_sim:1", "--anyplace-devices", "4", "--anyplace-memory", "64MiB"),
    )
    assert "4 passed" in out, out


def test_the_modules_of_compat_use_the_same_backend(run_tests, monkeypatch):
    monkeypatch.setenv("ANYPLACE_COMPAT", "cuda")
    source = "def test_it(anyplace_device):\n    assert anyplace.compat.backend() == anyplace_device.backend\n"
    out = run_tests("import anyplace.compat\n" + source, "--anyplace=cpu_sim:0")
    assert "1 passed" in out, out


def test_what_a_test_leaves_is_named(run_tests):
    out = run_tests(
        """
kept = []
@pytest.fixture(scope="module")
def wide(anyplace_place): return anyplace.Stream(anyplace_place)
def test_stream(anyplace_device): kept.append(anyplace.Stream(anyplace_device))
def test_event(anyplace_device): kept.append(anyplace.Event(anyplace_device))
def test_buffer(anyplace_stream): kept.append(anyplace.Buffer(anyplace_stream, 4096))
def test_closed(anyplace_device):
    kept.append(anyplace.Event(anyplace_device))
    kept[-1].close()
def test_wider(wide): wide.synchronize()
@pytest.mark.anyplace(leaks=True)
def test_allowed(anyplace_device): kept.append(anyplace.Stream(anyplace_device))
def test_cycle(anyplace_device):
    class Node: pass
    node = Node()
    node.self, node.stream = node, anyplace.Stream(anyplace_device)
""",
        "--anyplace=cpu_sim:0",
    )
    assert "7 passed, 3 errors" in out, out
    assert "the test left streams: 1 on" in out and "the test left events: 1 on" in out, out
    assert "the test left buffers: 1, bytes in them: 4096 on" in out, out


def test_each_test_begins_with_the_rules_anew(run_tests):
    source = """
@pytest.mark.parametrize("number", [1, 2])
def test_third_fails(anyplace_stream, number):
    kept = [anyplace.Buffer(anyplace_stream, 30 << 20) for _ in range(2)]
    with pytest.raises(anyplace.Error) as caught:
        kept.append(anyplace.Buffer(anyplace_stream, 30 << 20))
    assert "faults" in str(caught.value)
    del kept
    anyplace.memory.empty_cache(anyplace_stream.device)
"""
    out = run_tests(source, "--anyplace=cpu_sim:0", "--anyplace-faults", "event_create=backend_failed nth=900")
    assert "2 failed" in out, out
    source = """
@pytest.mark.parametrize("number", [1, 2])
def test_second_fails(anyplace_device, number):
    first = anyplace.Event(anyplace_device, timing=True)
    with pytest.raises(anyplace.Error, match="faults"):
        first.record(anyplace_device.default_stream)
    first.record(anyplace_device.default_stream)
def test_own_rules(anyplace_device, anyplace_faults):
    anyplace_faults("event_record=backend_failed nth=2")
    with pytest.raises(anyplace.Error, match="faults"):
        anyplace.Event(anyplace_device).record(anyplace_device.default_stream)
"""
    out = run_tests(source, "--anyplace=cpu_sim:0", "--anyplace-faults", "event_record=backend_failed nth=1")
    assert "3 passed" in out, out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--anyplace", "CUDA"], "no place"),
        (["--anyplace-memory", "1"], "needs --anyplace"),
        (["--anyplace=cpu_sim", "--anyplace-memory", "much"], "no size"),
        (["--anyplace=cpu_sim", "--anyplace-devices", "0"], "1 or more"),
        (["--anyplace=cpu_sim", "--anyplace-faults", "nonsense=1"], "ANYPLACE_FAULTS|column"),
    ],
)
def test_bad_options_are_usage_errors(tmp_path, options, text):
    program = subprocess.run(
        [*PYTEST, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert program.returncode == 4, program.stdout + program.stderr
    assert re.search(text, program.stdout + program.stderr), program.stderr
