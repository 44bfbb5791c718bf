# SPDX-License-Identifier: Apache-2.0
"""paddle.cuda's names, which are torch's, over paddle_device's objects."""

from __future__ import annotations

from . import _shared as _compat
from . import paddle_device as _paddle_device
from .paddle_device import *  # noqa: F403

device = _paddle_device.device_guard  # type: ignore[assignment,misc]  # paddle.device's is a class
cudart = _compat.refusing("paddle.cuda.cudart", "it has no meaning off CUDA")


def is_initialized() -> bool:
    return _compat.initialised()


def check_error(err: int) -> None:
    """Raises RuntimeError for another number than 0."""
    if err != 0:
        raise RuntimeError(f"the device's runtime failed with the code {err}")


# What paddle.device has and paddle.cuda hasn't: places, the kinds of devices, and older names.
_OTHERS = {
    "CPUPlace",
    "CUDAPlace",
    "Device",
    "GeneratorState",
    "Place",
    "cuda",
    "get_all_custom_device_type",
    "get_all_device_type",
    "get_available_custom_device",
    "get_available_device",
    "get_cudnn_version",
    "get_device",
    "get_device_module",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_ipu",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "stream_guard",
}
__all__ = sorted({*_paddle_device.__all__, "check_error", "cudart", "is_initialized"} - _OTHERS)
