# SPDX-License-Identifier: Apache-2.0
"""python -m anyplace demo, and what the package has of the command and of CMake."""

import os
import shutil
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


def test_cmake_finds_the_library_by_the_packages_folder(tmp_path):
    prefix = anyplace.cmake_prefix()
    assert os.path.dirname(anyplace.__file__) == prefix
    if shutil.which("cmake") is None or not os.path.isdir(os.path.join(prefix, "lib", "cmake")):
        pytest.skip("there is no CMake, or the module was built alone")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(application CXX)\nfind_package(anyplace REQUIRED)\n"
        "get_target_property(file anyplace::anyplace LOCATION)\nmessage(STATUS ${file})\n"
    )
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    program = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert program.returncode == 0 and f"-- {prefix}/lib/libanyplace.so" in program.stdout, program.stderr


def test_doctor_says_what_the_command_says(place):
    if not os.path.isdir(os.path.join(anyplace.cmake_prefix(), "bin")):
        pytest.skip("the module was built alone")
    assert place.partition(":")[0] in anyplace.doctor()
