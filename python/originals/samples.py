# SPDX-License-Identifier: Apache-2.0
"""Tests of pytest's: each sample about streams and events of the files that ANYPLACE_SAMPLES names, as it is written there.

Samples are lines that begin with ">>>" or "...", in docstrings and pages; a file without any is one program. The plugin of the
original has put anyplace's module in the place of the original's; tensors.py has what samples compute with. Those of one file share
their names, as on a page.
"""

import os
import pathlib
import re
import sys

import numpy
import pytest
from tensors import Tensor, functions

from anyplace.compat import torch_cuda

PROMPT = re.compile(r"^ *(?:>>>|\.\.\.)(?: (.*))?$")
ABOUT = re.compile(r"[Ss]tream|Event|synchronize")
NEXT = re.compile(r'^ *(?:[A-Z][\w ]*:{1,2}|\.\. .*|def .*|class .*|.*""".*)$')  # the next part of a docstring or page

# What samples use without importing it.
KNOWN = {"torch": "torch", "cupy": "cupy", "cp": "cupy"}
# A device of a plugin is called as the GPU is.
OTHER_NAMES = {"custom_cpu": "gpu"}
# What is wrong with the original, too.
WRONG = {
    "+SKIP": "the original leaves it out, too",
    "s1_cuda.record()": "torch.Stream has no record()",
    "default_stream()) # type: ignore": "paddle.device has no default_stream()",
    "s.wait_stream(paddle.cuda.current_stream())": "the stream waits for itself, and reads what another one writes",
    ">>> e1.elapsed_time(e2)": "the events are made without timing",
    ">>> assert elapsed_time > 0": "the events are of two streams that have no order, so the time may be 0 or less",
    "e1_cuda.elapsed_time(e2_cuda)": "the events are made without timing",
    "print(cupy.cuda.get_elapsed_time(start, end))\n\n\n# asynchronous": "the time is asked for before the event is complete",
}


def samples_of(path):
    """Pairs of a sample's first line and its text."""
    found, sample, first = [], [], 0
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if PROMPT.match(line):
            first = first or number
            sample.append(line)
        elif sample and NEXT.match(line):
            found.append((first, "\n".join(sample)))
            sample, first = [], 0
    return found or [(1, "\n".join(lines))]


def every_sample():
    for path in map(pathlib.Path, filter(None, os.environ.get("ANYPLACE_SAMPLES", "").split(os.pathsep))):
        names = {"__name__": "__main__", "torch_stream": torch_cuda.Stream()}
        names |= {here: sys.modules[name] for here, name in KNOWN.items() if name in sys.modules}
        for line, sample in samples_of(path):
            if ABOUT.search(sample):
                yield pytest.param(sample, names, id=f"{path.name}:{line}")


def _install():
    if "torch" in sys.modules:
        sys.modules["torch"].__getattr__ = functions(randn=numpy.random.randn, mm=numpy.matmul)
    if "cupy" in sys.modules:
        top = sys.modules["cupy"]
        for name in ("array", "empty", "zeros", "ones", "arange"):
            delattr(top, name)
        top.__getattr__ = functions()
        top.asnumpy = lambda tensor: tensor.get()
        top.testing.assert_array_equal = numpy.testing.assert_array_equal
    if "paddle" in sys.modules:
        top = sys.modules["paddle"]
        top.__getattr__ = functions()
        top.CustomPlace = lambda kind, index: top.CUDAPlace(index)
    if "mindspore" in sys.modules:
        top = sys.modules["mindspore"]
        top.__getattr__ = functions()
        top.Tensor = Tensor
        top.ops.__getattr__ = functions()


_install()


@pytest.mark.parametrize(("sample", "names"), list(every_sample()))
def test_a_sample_runs_as_it_is_written(sample, names):
    for text, why in WRONG.items():
        if text in sample:
            pytest.skip(why)
    for name, here in OTHER_NAMES.items():
        sample = sample.replace(name, here)
    source = re.sub(PROMPT.pattern, lambda line: line[1] or "", sample, flags=re.MULTILINE)
    exec(compile(source, "<sample>", "exec"), names)
