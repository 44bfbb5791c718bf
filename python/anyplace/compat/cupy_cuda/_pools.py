# SPDX-License-Identifier: Apache-2.0
"""CuPy's memory pools: free chunks are kept for each device and stream, split for smaller sizes and merged again.

Invariant: a chunk is handed out again only on the stream that it was freed on, so that stream orders its two uses.
"""

from __future__ import annotations

import bisect
import gc
import os
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import anyplace

from .. import _shared
from . import stream as _stream_module
from ._errors import CUDARuntimeError, OutOfMemoryError, cupy_errors
from .device import get_device_id
from .memory import BaseMemory, Memory, MemoryAsync, MemoryPointer, _malloc
from .memory_hook import _call_hooks

_allocation_unit_size = 512
_NO_LIMIT = 2**64 - 1


def _round_size(size: int) -> int:
    return (size + _allocation_unit_size - 1) // _allocation_unit_size * _allocation_unit_size


def _parse_limit_string(limit: str | None = None) -> dict[str, Any]:
    """The arguments of set_limit in CUPY_GPU_MEMORY_LIMIT: "1073741824" or "40%"."""
    text = os.environ.get("CUPY_GPU_MEMORY_LIMIT", "0") if limit is None else limit
    if text.endswith("%"):
        return {"size": None, "fraction": float(text[:-1]) / 100.0}
    return {"size": int(text), "fraction": None}


def _limit_of(size: int | None, fraction: float | None, device_id: int) -> int:
    """What set_limit's arguments come to, in bytes; 0 for no limit."""
    if size is None:
        if fraction is None:
            raise ValueError("size or fraction must be specified")
        if not 0 <= fraction <= 1:
            raise ValueError(f"memory limit fraction out of range: {fraction}")
        return int(fraction * _shared.mem_get_info(_shared.device_at(device_id))[1])
    if fraction is not None:
        raise ValueError("size and fraction cannot be specified at one time")
    if size < 0:
        raise ValueError(f"memory limit size out of range: {size}")
    return size


class _Chunk:
    """A part of a memory object, linked with the parts before and behind it."""

    __slots__ = ("arena", "mem", "next", "offset", "prev", "size")

    def __init__(self, mem: BaseMemory, offset: int, size: int, arena: _Arena | None) -> None:
        self.mem = mem
        self.offset = offset
        self.size = size
        self.arena = arena
        self.prev: _Chunk | None = None
        self.next: _Chunk | None = None

    def ptr(self) -> int:
        return self.mem.ptr + self.offset

    def split(self, size: int) -> _Chunk | None:
        """Shortens the chunk to `size` and returns what is left of it."""
        if self.size == size:
            return None
        tail = _Chunk(self.mem, self.offset + size, self.size - size, self.arena)
        self.size = size
        tail.next, tail.prev = self.next, self
        if self.next is not None:
            self.next.prev = tail
        self.next = tail
        return tail

    def merge_next(self) -> None:
        """Takes the chunk behind into this one."""
        behind = self.next
        assert behind is not None
        self.size += behind.size
        self.next = behind.next
        if self.next is not None:
            self.next.prev = self
        behind.arena = None


class _Arena:
    """The free chunks of one stream, by size."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._chunks: dict[int, list[_Chunk]] = {}

    def add(self, chunk: _Chunk) -> None:
        if chunk.size not in self._chunks:
            bisect.insort(self._sizes, chunk.size)
            self._chunks[chunk.size] = []
        self._chunks[chunk.size].append(chunk)

    def remove(self, chunk: _Chunk) -> bool:
        same = self._chunks.get(chunk.size, [])
        for i, each in enumerate(same):
            if each is chunk:
                del same[i]
                self._drop_empty(chunk.size)
                return True
        return False

    def _drop_empty(self, size: int) -> None:
        if not self._chunks[size]:
            del self._chunks[size]
            del self._sizes[bisect.bisect_left(self._sizes, size)]

    def take(self, size: int) -> _Chunk | None:
        """The smallest chunk of at least `size`."""
        i = bisect.bisect_left(self._sizes, size)
        if i == len(self._sizes):
            return None
        found = self._sizes[i]
        chunk = self._chunks[found].pop()
        self._drop_empty(found)
        return chunk

    def all(self) -> list[_Chunk]:
        return [chunk for size in self._sizes for chunk in self._chunks[size]]


class PooledMemory(BaseMemory):
    """Memory of a pool, which goes back to it."""

    def __init__(self, chunk: _Chunk, pool: weakref.ref[SingleDeviceMemoryPool]) -> None:
        self._chunk: _Chunk | None = chunk
        self._pool = pool
        self.ptr = chunk.ptr()
        self.size = chunk.size
        self.device_id = chunk.mem.device_id
        whole = chunk.mem._buffer
        self._buffer = None if whole is None else whole[chunk.offset : chunk.offset + chunk.size]

    def free(self) -> None:
        """Gives the memory back, once."""
        chunk, self._chunk = self._chunk, None
        if chunk is None:
            return
        figures = {"device_id": self.device_id, "mem_size": self.size, "mem_ptr": self.ptr, "pmem_id": id(self)}
        _call_hooks("free_preprocess", **figures)
        self._buffer = None
        self.ptr = 0
        pool = self._pool()
        if pool is not None:
            pool._free(chunk)
        _call_hooks("free_postprocess", **figures)

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends():  # then the module's names may be gone
            self.free()


class SingleDeviceMemoryPool:
    """The pool of the device that is current when it is made."""

    def __init__(self, allocator: Callable[[int], MemoryPointer] | None = None) -> None:
        self._allocator = _malloc if allocator is None else allocator
        self._device_id = get_device_id()
        self._lock = threading.Lock()
        self._arenas: dict[tuple[int, int], _Arena] = {}
        self._freed: deque[_Chunk] = deque()
        self._total = 0
        self._free_total = 0
        self._limit = _limit_of(**_parse_limit_string(), device_id=self._device_id)

    def _arena(self, stream_ptr: int) -> _Arena:
        # The per-thread stream has one handle, and is another stream on each thread.
        thread = threading.get_ident() if stream_ptr == _shared.PER_THREAD_HANDLE else 0
        return self._arenas.setdefault((stream_ptr, thread), _Arena())

    # A chunk may be freed by the garbage collector, in the middle of another call on the same thread. So a free only
    # puts it into a queue, which whoever has the lock empties.
    def _free(self, chunk: _Chunk) -> None:
        self._freed.append(chunk)
        if self._lock.acquire(blocking=False):
            try:
                self._sort_freed()
            finally:
                self._lock.release()

    def _sort_freed(self) -> None:
        while self._freed:
            chunk = self._freed.popleft()
            arena = chunk.arena
            assert arena is not None
            self._free_total += chunk.size
            if chunk.next is not None and chunk.next.arena is arena and arena.remove(chunk.next):
                chunk.merge_next()
            before = chunk.prev
            if before is not None and before.arena is arena and arena.remove(before):
                before.merge_next()
                chunk = before
            arena.add(chunk)

    def malloc(self, size: int) -> MemoryPointer:
        """Memory on the current stream, of a multiple of 512 bytes."""
        if size == 0:
            return MemoryPointer(Memory(0), 0)
        rounded = _round_size(size)
        figures = {"device_id": self._device_id, "size": size, "mem_size": rounded}
        _call_hooks("malloc_preprocess", **figures)
        pooled = PooledMemory(self._chunk_of(rounded), weakref.ref(self))
        _call_hooks("malloc_postprocess", **figures, mem_ptr=pooled.ptr, pmem_id=id(pooled))
        return MemoryPointer(pooled, 0)

    def _chunk_of(self, size: int) -> _Chunk:
        stream = _stream_module.get_current_stream().ptr
        with self._lock:
            self._sort_freed()
            arena = self._arena(stream)
            chunk = arena.take(size)
            if chunk is not None:
                tail = chunk.split(size)
                if tail is not None:
                    arena.add(tail)
                self._free_total -= size
                return chunk
        memory = self._allocate(size)
        with self._lock:
            self._total += size
            return _Chunk(memory, 0, size, arena)

    def _allocate(self, size: int) -> BaseMemory:
        """Memory of the device. When there is none, what the pool keeps is given up, and then what nobody refers to."""
        for give_up in (self.free_all_blocks, gc.collect, None):
            if not self._limit or self._total + size <= self._limit:
                try:
                    _call_hooks("alloc_preprocess", device_id=self._device_id, mem_size=size)
                    memory = self._allocator(size).mem
                    _call_hooks("alloc_postprocess", device_id=self._device_id, mem_size=size, mem_ptr=memory.ptr)
                    return memory
                except MemoryError:
                    pass
                except CUDARuntimeError as error:
                    if error.status != 2:
                        raise
            if give_up is not None:
                give_up()
                self.free_all_blocks()
        raise OutOfMemoryError(size, self._total, self._limit)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Gives what no chunk of is used back to the device; of one stream, if there is one."""
        dropped: list[_Chunk] = []
        with self._lock:
            self._sort_freed()
            arenas = self._arenas.values() if stream is None else [self._arena(stream.ptr)]
            for arena in arenas:
                for chunk in arena.all():
                    if chunk.prev is None and chunk.next is None:
                        arena.remove(chunk)
                        self._total -= chunk.size
                        self._free_total -= chunk.size
                        dropped.append(chunk)
        del dropped  # which waits, so it is done without the lock

    def free_all_free(self) -> None:
        warnings.warn("free_all_free is deprecated. Use free_all_blocks instead.", DeprecationWarning, stacklevel=2)
        self.free_all_blocks()

    def n_free_blocks(self) -> int:
        with self._lock:
            self._sort_freed()
            return sum(len(arena.all()) for arena in self._arenas.values())

    def used_bytes(self) -> int:
        with self._lock:
            self._sort_freed()
            return self._total - self._free_total

    def free_bytes(self) -> int:
        with self._lock:
            self._sort_freed()
            return self._free_total

    def total_bytes(self) -> int:
        with self._lock:
            return self._total

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        self._limit = _limit_of(size, fraction, self._device_id)

    def get_limit(self) -> int:
        return self._limit


class MemoryPool:
    """A pool for each device. Its figures are the current device's."""

    def __init__(self, allocator: Callable[[int], MemoryPointer] | None = None) -> None:
        self._allocator = allocator
        self._pools: dict[int, SingleDeviceMemoryPool] = {}
        self._lock = threading.Lock()

    def _mine(self) -> SingleDeviceMemoryPool:
        device = get_device_id()
        with self._lock:
            if device not in self._pools:
                self._pools[device] = SingleDeviceMemoryPool(self._allocator)
            return self._pools[device]

    def malloc(self, size: int) -> MemoryPointer:
        return self._mine().malloc(size)

    def free_all_blocks(self, stream: Any = None) -> None:
        self._mine().free_all_blocks(stream)

    def free_all_free(self) -> None:
        warnings.warn("free_all_free is deprecated. Use free_all_blocks instead.", DeprecationWarning, stacklevel=2)
        self.free_all_blocks()

    def n_free_blocks(self) -> int:
        return self._mine().n_free_blocks()

    def used_bytes(self) -> int:
        return self._mine().used_bytes()

    def free_bytes(self) -> int:
        return self._mine().free_bytes()

    def total_bytes(self) -> int:
        return self._mine().total_bytes()

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        self._mine().set_limit(size, fraction)

    def get_limit(self) -> int:
        return self._mine().get_limit()


class MemoryAsyncPool:
    """anyplace's own allocator, in a pool for each device: memory in the order of the current stream."""

    def __init__(self, pool_handles: Any = "current") -> None:
        if pool_handles not in ("current", "default"):
            raise ValueError("pool_handles: it is 'current' or 'default'; there are no handles of pools here")
        self._pools: dict[int, anyplace.MemoryPool] = {}
        self._limits: dict[int, int] = {}

    def _mine(self) -> anyplace.MemoryPool:
        device = get_device_id()
        if device not in self._pools:
            self._pools[device] = anyplace.MemoryPool(_shared.device_at(device))
        return self._pools[device]

    @cupy_errors
    def malloc(self, size: int) -> MemoryPointer:
        pool = self._mine()
        limit = self.get_limit()
        if pool.allocated_bytes + size > limit:
            raise OutOfMemoryError(size, pool.reserved_bytes, limit)
        with pool:
            return MemoryPointer(MemoryAsync(size, _stream_module.get_current_stream()), 0)

    @cupy_errors
    def free_all_blocks(self, stream: Any = None) -> None:
        """Waits for the device, and gives free memory back to it."""
        _shared.device_at(get_device_id()).synchronize()
        self._mine().release_free()

    def n_free_blocks(self) -> int:
        raise NotImplementedError("This function is not supported in MemoryAsyncPool")

    def used_bytes(self) -> int:
        return self._mine().allocated_bytes

    def free_bytes(self) -> int:
        return self.total_bytes() - self.used_bytes()

    def total_bytes(self) -> int:
        return self._mine().reserved_bytes

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        device = get_device_id()
        self._limits[device] = _limit_of(size, fraction, device)

    def get_limit(self) -> int:
        """Without a limit, the greatest number of 64 bits."""
        return self._limits.get(get_device_id()) or _NO_LIMIT
