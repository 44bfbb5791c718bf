# SPDX-License-Identifier: Apache-2.0
"""What the wheel has beside the module: the command, and the files by which CMake finds the library."""

from __future__ import annotations

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def cmake_prefix() -> str:
    """The folder for CMAKE_PREFIX_PATH, by which find_package(anyplace) finds this package's library."""
    return _FOLDER


def _program() -> str:
    program = os.path.join(_FOLDER, "bin", "anyplace")
    if not os.path.exists(program):
        raise FileNotFoundError(f"{program} isn't there: this package was built without the command anyplace")
    return program


def doctor() -> str:
    """What the command `anyplace doctor` says of this machine's plugins and devices, and what to do about it."""
    import subprocess

    return subprocess.run([_program(), "doctor"], capture_output=True, text=True, check=False).stdout


def main() -> None:
    """Becomes the command anyplace, with this process's arguments. `anyplace demo` is the package's own."""
    if sys.argv[1:2] == ["demo"]:
        from ._demo import main as demo

        sys.exit(demo(sys.argv[2:]))
    program = _program()
    os.execv(program, [program, *sys.argv[1:]])
