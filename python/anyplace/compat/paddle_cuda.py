# SPDX-License-Identifier: Apache-2.0
"""paddle.cuda's names, which are torch's, over paddle_device's objects."""

from __future__ import annotations

from . import _shared as _compat
from .paddle_device import (
    Event,
    Stream,
    StreamContext,
    current_device,
    current_stream,
    device_count,
    device_guard,
    empty_cache,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_rng_state,
    get_stream_from_external,
    ipc_collect,
    is_available,
    is_bf16_supported,
    is_current_stream_capturing,
    manual_seed,
    manual_seed_all,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    nvtx,
    reset_peak_memory_stats,
    set_device,
    set_rng_state,
    set_stream,
    stream,
    synchronize,
)

device = device_guard
cudart = _compat.refusing("paddle.cuda.cudart", "it has no meaning off CUDA")


def is_initialized() -> bool:
    return _compat.initialised()


def check_error(err: int) -> None:
    """Raises RuntimeError for another number than 0."""
    if err != 0:
        raise RuntimeError(f"the device's runtime failed with the code {err}")


__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "check_error",
    "cudart",
    "current_device",
    "current_stream",
    "device",
    "device_count",
    "device_guard",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_stream_from_external",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
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
    "reset_peak_memory_stats",
    "set_device",
    "set_rng_state",
    "set_stream",
    "stream",
    "synchronize",
]
