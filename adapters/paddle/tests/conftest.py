# SPDX-License-Identifier: Apache-2.0
"""Each case runs its Paddle in a process of its own: the plug-in reads its variables when Paddle is imported.

What the cases need from the environment: CUSTOM_DEVICE_ROOT, the folder of the plug-in; ANYPLACE_DOUBLES, the folder with the doubles
of the vendors' drivers (build/tests/doubles). Without the latter, what needs one is skipped."""
import dataclasses
import os
import subprocess
import sys
import textwrap

import pytest

ADAPTER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIMEOUT = 600


@dataclasses.dataclass
class Outcome:
    status: int
    output: str
    errors: str

    @property
    def all(self):
        return self.output + self.errors


def run_python(code, places=None, double=None, **variables):
    """Runs `code`, after `import paddle`, on `places`; over the double of that vendor's driver, if one is named."""
    environment = dict(os.environ)
    environment.setdefault("GLOG_minloglevel", "1")  # without the lines that say what was loaded
    for name in [name for name in environment if name.startswith(("ANYPLACE_PADDLE_", "ANYPLACE_CPU_SIM_", "FLAGS_"))]:
        del environment[name]
    environment["PYTHONPATH"] = os.path.join(ADAPTER, "python")
    if places is not None:
        environment["ANYPLACE_PADDLE_PLACES"] = places
    if double is not None:
        environment["LD_LIBRARY_PATH"] = ":".join(double_folder(name) for name in double.split(","))
    environment.update(variables)
    source = "import paddle, numpy\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, timeout=TIMEOUT, errors="replace")
    return Outcome(done.returncode, done.stdout, done.stderr)


def double_folder(name):
    root = os.environ.get("ANYPLACE_DOUBLES", "")
    folder = os.path.join(root, *{"levelzero": ("levelzero", "direct")}.get(name, (name,)))
    if not root or not os.path.isdir(folder):
        pytest.skip(f"the double of {name} isn't there (ANYPLACE_DOUBLES)")
    return folder


@pytest.fixture
def python():
    return run_python


@pytest.fixture
def plugin():
    """The plug-in's path."""
    return os.path.join(os.environ["CUSTOM_DEVICE_ROOT"], "libpaddle-custom-anyplace.so")
