# SPDX-License-Identifier: Apache-2.0
"""python -m anyplace demo."""

import os
import subprocess
import sys

import pytest

import anyplace


def demo(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "anyplace", "demo", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **variables},
        check=False,
    )


def test_the_demo_needs_no_compiler_and_says_what_it_does(place):
    program = demo(place, "--pieces", "3", PATH="/nowhere")
    assert program.returncode == 0, program.stdout + program.stderr
    assert place in program.stdout and "3 of 3 pieces are right" in program.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [(["cpu_sim:77"], 1, "no_such_device"), (["--pieces", "0"], 2, "from 1 to 64"), (["CUDA"], 1, "invalid_argument")],
)
def test_the_demo_refuses_bad_arguments(arguments, status, text):
    program = demo(*arguments)
    assert program.returncode == status and text in program.stdout + program.stderr


def test_cmake_finds_the_library_by_the_packages_folder():
    assert os.path.dirname(anyplace.__file__) == anyplace.cmake_prefix()
