# SPDX-License-Identifier: Apache-2.0
"""paddle.device's names over anyplace. The module is callable, as Paddle's is: paddle_device("gpu:0") is a Device."""

from __future__ import annotations

import sys as _sys
import types as _types
from typing import Any

from . import cuda, nvtx
from ._device import (
    CPUPlace,
    CUDAPlace,
    Device,
    Place,
    current_device,
    device_count,
    device_guard,
    get_all_custom_device_type,
    get_all_device_type,
    get_available_custom_device,
    get_available_device,
    get_cudnn_version,
    get_device,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    is_bf16_supported,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_distribute,
    is_compiled_with_ipu,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_device,
)
from ._memory import (
    GeneratorState,
    empty_cache,
    get_rng_state,
    ipc_collect,
    manual_seed,
    manual_seed_all,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    reset_peak_memory_stats,
    set_rng_state,
)
from ._streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    get_stream_from_external,
    is_current_stream_capturing,
    set_stream,
    stream,
    stream_guard,
    synchronize,
)

device = Device


def get_device_module(device: Any = None) -> _types.ModuleType:
    """The module of a kind of device: paddle_device.cuda."""
    from ._device import _parsed

    if _parsed(device)[0] == "cpu":
        raise RuntimeError("get_device_module: the cpu has no module")
    return cuda


class _CallableModule(_types.ModuleType):
    def __call__(self, type: Any = None, index: int | None = None) -> Device:
        return Device(type, index)


_sys.modules[__name__].__class__ = _CallableModule

__all__ = [
    "CPUPlace",
    "CUDAPlace",
    "Device",
    "Event",
    "GeneratorState",
    "Place",
    "Stream",
    "StreamContext",
    "cuda",
    "current_device",
    "current_stream",
    "device",
    "device_count",
    "device_guard",
    "empty_cache",
    "get_all_custom_device_type",
    "get_all_device_type",
    "get_available_custom_device",
    "get_available_device",
    "get_cudnn_version",
    "get_device",
    "get_device_capability",
    "get_device_module",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_stream_from_external",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_ipu",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "is_current_stream_capturing",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "nvtx",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "set_rng_state",
    "set_stream",
    "stream",
    "stream_guard",
    "synchronize",
]
