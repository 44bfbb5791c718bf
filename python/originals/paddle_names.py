# SPDX-License-Identifier: Apache-2.0
"""A plugin for pytest: Paddle's own tests find anyplace.compat.paddle_device as paddle.device."""

import sys

from stand_ins import Refusals, module, skip_for

from anyplace.compat import paddle_cuda, paddle_device


def pytest_configure(config):
    config.pluginmanager.register(Refusals())
    config.addinivalue_line("filterwarnings", "ignore:.*deprecated:DeprecationWarning")


def _install():
    names = ("CPUPlace", "CUDAPlace", "set_device", "get_device", "is_compiled_with_cuda", "is_compiled_with_rocm")
    top = module(
        "paddle", device=paddle_device, cuda=paddle_cuda, **{name: getattr(paddle_device, name) for name in names}
    )
    top.__getattr__ = skip_for("Paddle's tensors: paddle")
    sys.modules["paddle.device"] = paddle_device
    sys.modules["paddle.device.cuda"] = paddle_device.cuda
    sys.modules["paddle.device.cuda.graphs"] = paddle_device.cuda.graphs
    sys.modules["paddle.cuda"] = paddle_cuda
    module("op_test", get_device_place=lambda: paddle_device.CUDAPlace(0), is_custom_device=lambda: False)


_install()
