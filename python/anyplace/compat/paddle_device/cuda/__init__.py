# SPDX-License-Identifier: Apache-2.0
"""paddle.device.cuda: the older names. Devices are numbers and places here, not text."""

from __future__ import annotations

import warnings
from typing import Any

import anyplace

from ... import _shared as _compat
from .. import _streams as _base
from .._device import (
    Place,
    _gpu,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
)
from .._memory import (
    allocate_record_guard,
    allocate_record_plot,
    allocate_record_table,
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    reset_peak_memory_stats,
    vmm_compact,
)
from . import graphs


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(f"paddle.device.cuda.{name} is deprecated since 2.5: use {instead}", DeprecationWarning, stacklevel=3)


def _number(device: Any) -> Any:
    if device is not None and (isinstance(device, bool) or not isinstance(device, int | Place | anyplace.Device)):
        raise ValueError(f"device type must be int or paddle.CUDAPlace, not {type(device).__name__}")
    return device


class Stream(_base.Stream):
    """CUDAStream(device=None, priority=None): `priority` is 1 (high) or 2."""

    def __init__(self, device: Any = None, priority: int | None = None) -> None:
        _deprecated("Stream", "paddle.device.Stream")
        if priority not in (None, 1, 2):
            raise ValueError("priority should be 1(high) or 2(normal)")
        super().__init__(_number(device), 2 if priority is None else priority)

    @property
    def place(self) -> Place:
        return self.device


class Event(_base.Event):
    """CUDAEvent(enable_timing=False, blocking=False, interprocess=False)."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        _deprecated("Event", "paddle.device.Event")
        super().__init__(enable_timing, blocking, interprocess)


_known: dict[tuple[int, int], Stream] = {}


def _raw(stream: _base.Stream) -> Stream:
    """The stream as an object of the older class, one for each stream."""
    if isinstance(stream, Stream):
        return stream
    key = (stream.device._index, stream._ref.stream.id)
    found = _known.get(key)
    if found is None:
        made = _base._stream_of(stream._ref, Stream)
        assert isinstance(made, Stream)
        found = _known[key] = made
    return found


def current_stream(device: Any = None) -> Stream:
    _deprecated("current_stream", "paddle.device.current_stream")
    return _raw(_base.current_stream(_number(device)))


def synchronize(device: Any = None) -> None:
    _deprecated("synchronize", "paddle.device.synchronize")
    _gpu(_number(device)).synchronize()


def _set_current_stream(stream: Stream) -> Stream:
    if not isinstance(stream, Stream):
        raise TypeError("stream type should be paddle.device.cuda.Stream")
    return _raw(_base.set_stream(stream))


class stream_guard(_base.stream_guard):
    """with stream_guard(s): makes the stream and its device current, and restores both."""

    def __init__(self, stream: Stream) -> None:
        _deprecated("stream_guard", "paddle.device.stream_guard")
        super().__init__(stream)


def get_rng_state(device: Any = None) -> Any:
    from .._memory import get_rng_state as get_state

    return get_state(device)


cudart = _compat.refusing("paddle.device.cuda.cudart", "it has no meaning off CUDA")

__all__ = [
    "Event",
    "Stream",
    "allocate_record_guard",
    "allocate_record_plot",
    "allocate_record_table",
    "cudart",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "graphs",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "stream_guard",
    "synchronize",
    "vmm_compact",
]
