# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.memory: the allocator's figures, its limits, and memory pools."""

from __future__ import annotations

import ctypes
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyplace

from .. import _shared
from ._device import _DeviceIndex, _device_of, is_initialized
from ._errors import torch_errors
from ._streams import Stream, current_stream

_addresses = _shared.Addresses()
_caching = True


def _forwarded(old: str, new: str) -> None:
    warnings.warn(f"torch.cuda.{old} has been renamed to torch.cuda.{new}", FutureWarning, stacklevel=3)


@torch_errors
def memory_stats(device: _DeviceIndex = None) -> OrderedDict[str, Any]:
    """The allocator's figures by torch's keys, sorted; {} before the first use."""
    if not is_initialized():
        return OrderedDict()
    return OrderedDict(sorted(anyplace.memory.stats(_device_of(device)).items()))


def memory_stats_as_nested_dict(device: _DeviceIndex = None) -> dict[str, Any]:
    return _shared.nested(dict(memory_stats(device)))


def memory_allocated(device: _DeviceIndex = None) -> int:
    return int(memory_stats(device).get("allocated_bytes.all.current", 0))


def max_memory_allocated(device: _DeviceIndex = None) -> int:
    return int(memory_stats(device).get("allocated_bytes.all.peak", 0))


def memory_reserved(device: _DeviceIndex = None) -> int:
    return int(memory_stats(device).get("reserved_bytes.all.current", 0))


def max_memory_reserved(device: _DeviceIndex = None) -> int:
    return int(memory_stats(device).get("reserved_bytes.all.peak", 0))


def memory_cached(device: _DeviceIndex = None) -> int:
    _forwarded("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: _DeviceIndex = None) -> int:
    _forwarded("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


@torch_errors
def reset_peak_memory_stats(device: _DeviceIndex = None) -> None:
    anyplace.memory.reset_peak_stats(_device_of(device))


@torch_errors
def reset_accumulated_memory_stats(device: _DeviceIndex = None) -> None:
    anyplace.memory.reset_accumulated_stats(_device_of(device))


def reset_max_memory_allocated(device: _DeviceIndex = None) -> None:
    _forwarded("reset_max_memory_allocated", "reset_peak_memory_stats, which resets all peaks")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: _DeviceIndex = None) -> None:
    _forwarded("reset_max_memory_cached", "reset_peak_memory_stats, which resets all peaks")
    reset_peak_memory_stats(device)


@torch_errors
def memory_summary(device: _DeviceIndex = None, abbreviated: bool = False) -> str:
    """The figures as a table for people."""
    return anyplace.memory.summary(_device_of(device), abbreviated=abbreviated)


@torch_errors
def _snapshot(device: _DeviceIndex = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """Segments and traces, as PyTorch's memory viewer takes them."""
    found: dict[str, Any] = pickle.loads(anyplace.memory.snapshot(_device_of(device)))
    return found


@torch_errors
def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Writes a pickle that opens in pytorch.org/memory_viz."""
    with open(filename, "wb") as file:
        file.write(anyplace.memory.snapshot(_device_of(None)))


def memory_snapshot(mempool_id: tuple[int, int] | None = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """The allocator's segments; with `mempool_id`, those of that pool."""
    segments: list[dict[str, Any]] = _snapshot()["segments"]
    if mempool_id is None:
        return segments
    return [each for each in segments if tuple(each["segment_pool_id"]) == tuple(mempool_id)]


@torch_errors
def mem_get_info(device: _DeviceIndex = None) -> tuple[int, int]:
    """Free and total bytes of the whole device."""
    return _shared.mem_get_info(_device_of(device))


@torch_errors
def empty_cache() -> None:
    """Gives cached memory that no work uses back to every device; nothing before the first use."""
    if is_initialized():
        for each in anyplace.devices(_shared.backend()):
            anyplace.memory.empty_cache(each)


@torch_errors
def set_per_process_memory_fraction(fraction: float, device: _DeviceIndex = None) -> None:
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _shared.set_fraction(fraction, _device_of(device))


def get_per_process_memory_fraction(device: _DeviceIndex = None) -> float:
    return _shared.fraction_of(_device_of(device))


@torch_errors
def caching_allocator_alloc(size: int, device: _DeviceIndex = None, stream: Stream | int | None = None) -> int:
    """Memory by its address, for caching_allocator_delete."""
    where = _device_of(device)
    if stream is None:
        ref = current_stream(where)._ref
    elif isinstance(stream, Stream):
        ref = stream._ref
    elif isinstance(stream, int):
        ref = _shared.ref_of_handle(stream, where)
    else:
        raise TypeError("Invalid type for stream argument, must be `torch.cuda.Stream` or `int` representing a pointer")
    return _addresses.put(anyplace.Buffer(ref.stream, size))


def caching_allocator_delete(mem_ptr: int) -> None:
    """Gives such memory back. Raises RuntimeError for another address."""
    if mem_ptr and _addresses.take(mem_ptr) is None:
        raise RuntimeError(f"invalid device pointer: {mem_ptr:#x} didn't come from caching_allocator_alloc")


@contextmanager
def caching_allocator_enable(value: bool = True) -> Iterator[None]:
    """In the `with` statement buffers of the current device come from its cache, or, with False, from the device."""
    device = _device_of(None)
    kind = anyplace.Allocator.caching if value else anyplace.Allocator.raw
    former = anyplace.set_allocator(device, kind(device))
    try:
        yield
    finally:
        anyplace.set_allocator(device, former)


def caching_allocator_disabled() -> Any:
    return caching_allocator_enable(False)


def get_allocator_backend() -> str:
    return "pluggable" if _changed else "native"


class CUDAPluggableAllocator:
    """An allocator of two C functions in a shared object."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        self._library = ctypes.CDLL(path_to_so_file)
        self._functions = [
            ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0
            for name in (alloc_fn_name, free_fn_name)
        ]

    def allocator(self) -> CUDAPluggableAllocator:
        return self


_changed: CUDAPluggableAllocator | None = None


@torch_errors
def change_current_allocator(allocator: CUDAPluggableAllocator) -> None:
    """Makes every device's buffers come from it. Raises RuntimeError once memory was allocated."""
    global _changed
    devices = anyplace.devices(_shared.backend())
    if _changed is not None or any(anyplace.memory.stats(each).get("allocation.all.allocated", 0) for each in devices):
        raise RuntimeError("Can't swap an already initialized allocator")
    for each in devices:
        anyplace.set_allocator(each, anyplace.Allocator.from_functions(each, *allocator._functions))
    _changed = allocator


class MemPool:
    """Memory apart from the common pool, of the device that is current when it is made."""

    def __init__(
        self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False, symmetric: bool = False
    ) -> None:
        if allocator is not None or use_on_oom or no_split or symmetric:
            raise NotImplementedError(
                "MemPool: a pool has the library's own allocator; allocator, use_on_oom, no_split and symmetric "
                "aren't there; docs/compat.md lists what there is"
            )
        self.device = _device_of(None)
        self._pool = anyplace.MemoryPool(self.device)
        self._users = 0

    @property
    def id(self) -> tuple[int, int]:
        return 0, self._pool.id

    @property
    def allocator(self) -> None:
        return None

    def use_count(self) -> int:
        """One for this object, and one for each `with use_mem_pool` that it is in."""
        return 1 + self._users

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        return memory_snapshot(self.id)


@contextmanager
def use_mem_pool(pool: MemPool, device: _DeviceIndex = None) -> Iterator[None]:
    """In the `with` statement this thread's memory of the pool's device comes from the pool."""
    if device is not None and _device_of(device) != pool.device:
        raise NotImplementedError(f"use_mem_pool: the pool is of {pool.device}, not of {_device_of(device)}")
    pool._users += 1
    try:
        with pool._pool:
            yield
    finally:
        pool._users -= 1


def ipc_collect() -> None:
    """Nothing is left to do: memory that peers let go is given back by itself."""


host_memory_stats = _shared.refusing("host_memory_stats", "the pinned allocator has no figures")
host_memory_stats_as_nested_dict = _shared.refusing(
    "host_memory_stats_as_nested_dict", "the pinned allocator has no figures"
)
reset_peak_host_memory_stats = _shared.refusing("reset_peak_host_memory_stats", "the pinned allocator has no figures")
reset_accumulated_host_memory_stats = _shared.refusing(
    "reset_accumulated_host_memory_stats", "the pinned allocator has no figures"
)
_record_memory_history = _shared.refusing(
    "_record_memory_history", "the binding starts no recording; the C++ library does"
)
