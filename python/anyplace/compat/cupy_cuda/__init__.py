# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda's names over anyplace, with CuPy's RawKernel and RawModule. docs/compat.md says where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import _shared as _compat
from . import (
    device,
    driver,
    function,
    graph,
    memory,
    memory_hook,
    memory_hooks,
    nccl,
    nvtx,
    pinned_memory,
    profiler,
    runtime,
    stream,
)
from ._errors import CompileException, CUDADriverError, CUDARuntimeError, OutOfMemoryError
from .device import Device, get_cublas_handle, get_device_id
from .function import RawKernel, RawModule
from .graph import Graph
from .memory import (
    BaseMemory,
    CFunctionAllocator,
    ManagedMemory,
    Memory,
    MemoryAsync,
    MemoryAsyncPool,
    MemoryPointer,
    MemoryPool,
    PythonFunctionAllocator,
    SystemMemory,
    UnownedMemory,
    alloc,
    get_allocator,
    malloc_async,
    malloc_managed,
    malloc_system,
    set_allocator,
    using_allocator,
)
from .memory_hook import MemoryHook
from .pinned_memory import (
    PinnedMemory,
    PinnedMemoryPointer,
    PinnedMemoryPool,
    alloc_pinned_memory,
    is_memory_pinned,
    set_pinned_memory_allocator,
)
from .stream import Event, ExternalStream, Stream, get_current_stream, get_elapsed_time


def is_available() -> bool:
    """Whether there is a device. Never raises."""
    try:
        return _compat.count() > 0
    except Exception:
        return False


_default_pool = MemoryPool()
_default_pinned_pool = PinnedMemoryPool()
set_allocator(_default_pool.malloc)
set_pinned_memory_allocator(_default_pinned_pool.malloc)


def get_default_memory_pool() -> MemoryPool:
    """The pool that memory comes from unless set_allocator says otherwise."""
    return _default_pool


def get_default_pinned_memory_pool() -> PinnedMemoryPool:
    return _default_pinned_pool


@contextmanager
def profile() -> Iterator[None]:
    """with profile(): marks where a profile begins and ends."""
    profiler.start()
    try:
        yield
    finally:
        profiler.stop()


__all__ = [
    "BaseMemory",
    "CFunctionAllocator",
    "CUDADriverError",
    "CUDARuntimeError",
    "CompileException",
    "Device",
    "Event",
    "ExternalStream",
    "Graph",
    "ManagedMemory",
    "Memory",
    "MemoryAsync",
    "MemoryAsyncPool",
    "MemoryHook",
    "MemoryPointer",
    "MemoryPool",
    "OutOfMemoryError",
    "PinnedMemory",
    "PinnedMemoryPointer",
    "PinnedMemoryPool",
    "PythonFunctionAllocator",
    "RawKernel",
    "RawModule",
    "Stream",
    "SystemMemory",
    "UnownedMemory",
    "alloc",
    "alloc_pinned_memory",
    "device",
    "driver",
    "function",
    "get_allocator",
    "get_cublas_handle",
    "get_current_stream",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "get_device_id",
    "get_elapsed_time",
    "graph",
    "is_available",
    "is_memory_pinned",
    "malloc_async",
    "malloc_managed",
    "malloc_system",
    "memory",
    "memory_hook",
    "memory_hooks",
    "nccl",
    "nvtx",
    "pinned_memory",
    "profile",
    "profiler",
    "runtime",
    "set_allocator",
    "set_pinned_memory_allocator",
    "stream",
    "using_allocator",
]
