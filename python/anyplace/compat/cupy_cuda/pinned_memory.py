# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.pinned_memory: memory of the host that devices read and write directly, and its pool."""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import anyplace

from .. import _shared
from ._errors import cupy_errors
from .device import get_device_id


class PinnedMemory:
    """Pinned memory, given back when this object goes."""

    ptr: int = 0
    size: int = 0
    _host: anyplace.HostBuffer | None = None

    @cupy_errors
    def __init__(self, size: int, flags: int = 0) -> None:
        self.size = size
        if size > 0:
            self._host = anyplace.HostBuffer(_shared.device_at(get_device_id()), size)
            self.ptr = self._host.address

    def __int__(self) -> int:
        return self.ptr


class PinnedMemoryPointer:
    """An address in pinned memory, which it keeps. memoryview() and NumPy see the memory."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + offset
        self._offset = offset

    def size(self) -> int:
        """The bytes from here to the end."""
        return int(self.mem.size - self._offset)

    def __int__(self) -> int:
        return int(self.ptr)

    def __add__(self, offset: int) -> PinnedMemoryPointer:
        return PinnedMemoryPointer(self.mem, self._offset + offset)

    __radd__ = __add__

    def __iadd__(self, offset: int) -> PinnedMemoryPointer:
        return self + offset

    def __sub__(self, offset: int) -> PinnedMemoryPointer:
        return self + -offset

    def __isub__(self, offset: int) -> PinnedMemoryPointer:
        return self + -offset

    def view(self) -> memoryview:
        """The bytes from here to the end."""
        kept = (ctypes.c_ubyte * self.size()).from_address(self.ptr)
        setattr(kept, "_owner", self.mem)  # the memory stays as long as views of it
        return memoryview(kept).cast("B")

    def __buffer__(self, flags: int) -> memoryview:
        return self.view()

    @property
    def __array_interface__(self) -> dict[str, object]:
        return {"shape": (self.size(),), "typestr": "|u1", "data": (self.ptr, False), "version": 3}


class PooledPinnedMemory(PinnedMemory):
    """Memory of a pool, which goes back to it."""

    def __init__(self, memory: Any, pool: weakref.ref[PinnedMemoryPool]) -> None:
        self._memory: Any = memory
        self._pool = pool
        self.ptr = memory.ptr
        self.size = memory.size

    def free(self) -> None:
        """Gives the memory back, once."""
        memory, self._memory = self._memory, None
        pool = self._pool()
        if memory is not None and pool is not None:
            pool._free(memory)

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends():  # then the module's names may be gone
            self.free()


def _malloc(size: int) -> PinnedMemoryPointer:
    return PinnedMemoryPointer(PinnedMemory(size), 0)


class PinnedMemoryPool:
    """Free memory by size, each a power of two of at least 512 bytes."""

    def __init__(self, allocator: Callable[[int], PinnedMemoryPointer] = _malloc) -> None:
        self._allocator = allocator
        self._free_memory: dict[int, list[Any]] = {}
        self._lock = threading.RLock()

    def malloc(self, size: int) -> PinnedMemoryPointer:
        if size == 0:
            return PinnedMemoryPointer(PinnedMemory(0), 0)
        rounded = max(512, 1 << (size - 1).bit_length())
        with self._lock:
            kept = self._free_memory.get(rounded)
            memory = kept.pop() if kept else None
        if memory is None:
            try:
                memory = self._allocator(rounded).mem
            except MemoryError:
                self.free_all_blocks()
                memory = self._allocator(rounded).mem
        return PinnedMemoryPointer(PooledPinnedMemory(memory, weakref.ref(self)), 0)

    def _free(self, memory: Any) -> None:
        with self._lock:
            self._free_memory.setdefault(memory.size, []).append(memory)

    def free_all_blocks(self) -> None:
        with self._lock:
            dropped, self._free_memory = self._free_memory, {}
        del dropped

    def n_free_blocks(self) -> int:
        with self._lock:
            return sum(len(each) for each in self._free_memory.values())


_allocator: Callable[[int], PinnedMemoryPointer] = _malloc


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """Calls the current allocator of pinned memory."""
    return _allocator(size)


def set_pinned_memory_allocator(allocator: Callable[[int], PinnedMemoryPointer] | None = None) -> None:
    """None pins new memory each time."""
    global _allocator
    _allocator = _malloc if allocator is None else allocator


def is_memory_pinned(data: int) -> bool:
    """Whether anyplace pinned the memory at the address."""
    return anyplace.pointer_attributes(data)["kind"] in ("pinned", "registered", "managed")
