# SPDX-License-Identifier: Apache-2.0
"""torch.accelerator's names over anyplace, with the generic torch.Stream and torch.Event."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import anyplace

from . import _shared, torch_cuda
from .torch_cuda import random as _random
from .torch_cuda._device import _DeviceIndex
from .torch_cuda._streams import _DeviceName


class Stream(torch_cuda.Stream):
    """torch.Stream: by device, or by stream_id, device_index and device_type."""

    def __init__(self, *args: Any, priority: int = 0, **keywords: Any) -> None:
        if len(args) == 3:
            keywords.update(zip(("stream_id", "device_index", "device_type"), args, strict=True))
            args = ()
        device = args[0] if args else keywords.pop("device", None)
        super().__init__(device, priority, **keywords)


class Event(torch_cuda.Event):
    """torch.Event: Event(device=None, *, enable_timing=False, blocking=False, interprocess=False)."""

    def __init__(
        self,
        device: _DeviceIndex = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        super().__init__(enable_timing, blocking, interprocess)
        if device is not None:
            self._made_on(_device(device))


def _device(device: _DeviceIndex) -> anyplace.Device:
    if not torch_cuda.is_available():
        raise RuntimeError("Accelerator expected: no device of " + _shared.backend())
    return _shared.device_at(_index(device))


def _index(device: _DeviceIndex) -> int:
    if device is None:
        return torch_cuda.current_device()
    if isinstance(device, str) and ":" not in device and device != "cuda":
        raise ValueError(f"{device} doesn't match the current accelerator cuda")
    try:
        index = _shared.index_of(device)
    except ValueError as error:
        raise ValueError(f"{device} doesn't match the current accelerator cuda") from error
    return torch_cuda.current_device() if index < 0 else index


def device_count() -> int:
    return torch_cuda.device_count()


def is_available() -> bool:
    return torch_cuda.is_available()


def current_accelerator(check_available: bool = False) -> _DeviceName | None:
    """The kind of device; None where `check_available` is asked for and there is none."""
    return None if check_available and not is_available() else _DeviceName(0)


def current_device_index() -> int:
    return torch_cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: _DeviceIndex, /) -> None:
    """Negative numbers leave everything as it is."""
    if not (isinstance(device, int) and device < 0):
        torch_cuda.set_device(_index(device))


set_device_idx = set_device_index


def current_stream(device: _DeviceIndex = None, /) -> Stream:
    found = Stream._of(torch_cuda.current_stream(_index(device))._ref)
    assert isinstance(found, Stream)
    return found


def set_stream(stream: torch_cuda.Stream) -> None:
    torch_cuda.set_stream(stream)


def synchronize(device: _DeviceIndex = None, /) -> None:
    torch_cuda.synchronize(_index(device))


class device_index:
    """with device_index(1): makes the device current and restores the former one; None does nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self._scope = torch_cuda.device(-1 if device is None else device)

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._scope.__exit__(*exception)


def get_device_capability(device: _DeviceIndex = None, /) -> dict[str, Any]:
    """{"supported_dtypes": names of types that the device computes}."""
    facts = _device(device).properties
    names = {"bool", "uint8", "int8", "int16", "int32", "int64", "float32"}
    if facts.float64 is not False:
        names.add("float64")
    if facts.float16:
        names.add("float16")
    return {"supported_dtypes": names}


def empty_cache() -> None:
    torch_cuda.empty_cache()


empty_host_cache = _shared.refusing("empty_host_cache", "the binding doesn't empty the cache of pinned memory")


def memory_stats(device_index: _DeviceIndex = None, /) -> OrderedDict[str, Any]:
    return torch_cuda.memory_stats(device_index)


def memory_allocated(device_index: _DeviceIndex = None, /) -> int:
    return torch_cuda.memory_allocated(device_index)


def max_memory_allocated(device_index: _DeviceIndex = None, /) -> int:
    return torch_cuda.max_memory_allocated(device_index)


def memory_reserved(device_index: _DeviceIndex = None, /) -> int:
    return torch_cuda.memory_reserved(device_index)


def max_memory_reserved(device_index: _DeviceIndex = None, /) -> int:
    return torch_cuda.max_memory_reserved(device_index)


def reset_accumulated_memory_stats(device_index: _DeviceIndex = None, /) -> None:
    torch_cuda.reset_accumulated_memory_stats(device_index)


def reset_peak_memory_stats(device_index: _DeviceIndex = None, /) -> None:
    torch_cuda.reset_peak_memory_stats(device_index)


def get_memory_info(device_index: _DeviceIndex = None, /) -> tuple[int, int]:
    """Free and total bytes."""
    return torch_cuda.mem_get_info(device_index)


def initial_seed() -> int:
    return _random.initial_seed()


def get_rng_state(device: _DeviceIndex = None, /) -> bytearray:
    return _random.get_rng_state(device)


def get_rng_state_all() -> list[bytearray]:
    return _random.get_rng_state_all()


class Graph(torch_cuda.CUDAGraph):
    """torch.accelerator.Graph: `with stream, graph:` captures the current stream."""

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        super().__init__(keep_graph)
        self._asked_pool = pool
        self._mode = "global" if capture_error_mode == "default" else capture_error_mode

    def __enter__(self) -> Graph:
        synchronize()
        empty_cache()
        self.capture_begin(self._asked_pool, self._mode)
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.capture_end()
        except RuntimeError:
            if not exception or exception[0] is None:
                raise
