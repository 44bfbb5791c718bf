# SPDX-License-Identifier: Apache-2.0
"""A plugin for pytest: cuda.core's own tests find anyplace.compat.cuda_core where they import cuda.core."""

import sys

import pytest
from stand_ins import Refusals, module, skip_for, skipping

from anyplace.compat import cuda_core


class StreamWrapper:
    """An object with a stream's protocol alone."""

    def __init__(self, stream):
        self._stream = stream

    def __cuda_stream__(self):
        return self._stream.__cuda_stream__()


@pytest.fixture
def init_cuda():
    device = cuda_core.Device()
    device.set_current()
    return device


@pytest.fixture
def deinit_cuda():
    return None


def pytest_configure(config):
    config.pluginmanager.register(Refusals())


def _install():
    module("cuda")
    sys.modules["cuda.core"] = sys.modules["cuda"].core = cuda_core
    # Where the handles of the driver are objects, here they are numbers.
    driver = module("cuda.bindings.driver", CUstream=int, CUevent=int)
    driver.__getattr__ = skip_for("cuda.bindings.driver")
    module("cuda.core._stream", **{name: getattr(cuda_core, name) for name in cuda_core.__all__})
    module("cuda.core._event", Event=cuda_core.Event)
    module("cuda.core._utils")
    utilities = module("cuda.core._utils.cuda_utils", driver=driver, CUDAError=cuda_core.CUDAError)
    utilities.__getattr__ = skip_for("cuda.core._utils.cuda_utils")
    module("helpers")
    module("helpers.misc", StreamWrapper=StreamWrapper).__getattr__ = skip_for("helpers.misc")
    module("conftest", skipif_compute_sanitizer_is_running=lambda test: test).__getattr__ = skip_for("conftest")
    for name in ("cuda.bindings.runtime", "cuda.core.system", "helpers.buffers", "helpers.latch"):
        skipping(name)


_install()
