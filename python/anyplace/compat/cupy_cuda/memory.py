# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.memory: memory objects, pointers into them, and which function allocates. The pools are in _pools.py."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyplace

from .. import _shared
from . import stream as _stream_module
from ._errors import CUDARuntimeError, OutOfMemoryError, cupy_errors
from .device import Device, get_device_id


class BaseMemory:
    """Memory on a device."""

    ptr: int = 0
    size: int = 0
    device_id: int = 0
    _buffer: anyplace.Buffer | None = None

    @property
    def device(self) -> Device:
        return Device(self.device_id)

    def __int__(self) -> int:
        return self.ptr


def _waited_for(buffer: anyplace.Buffer) -> None:
    """As CUDA's own free does: all work of the device is done before memory goes back, whatever stream uses it."""
    if sys.is_finalizing():
        return  # host functions of Python's don't run any more, and work behind them may never be done
    try:
        buffer.device.synchronize()
    except anyplace.Error:
        pass  # in a capture, in a host function, or at the end of the process nothing is waited for


class Memory(BaseMemory):
    """Memory that is got from the device, and given back when this object goes; that waits for the device."""

    _kind = "device"

    @cupy_errors
    def __init__(self, size: int) -> None:
        self.size = size
        self.device_id = get_device_id()
        if size > 0:
            device = _shared.device_at(self.device_id)
            if self._kind == "device":
                self._buffer = anyplace.Buffer(device.default_stream, size)
            else:
                self._buffer = anyplace.Buffer(device.default_stream, size, kind=self._kind)
            self.ptr = self._buffer.address

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if self._buffer is not None and not ends():  # then the module's names may be gone
            _waited_for(self._buffer)
            self._buffer = None


class ManagedMemory(Memory):
    """Memory that host and device share."""

    _kind = "managed"

    @cupy_errors
    def prefetch(self, stream: Any, *, device_id: int | None = None) -> None:
        """Nothing is moved ahead of its use; the device has to be there."""
        _shared.device_at(self.device_id if device_id is None else device_id)

    def advise(self, advise: int, device: Device) -> None:
        """Nothing is advised; the number has to be one of CUDA's."""
        if not 1 <= advise <= 6:
            raise CUDARuntimeError(1, f"{advise} is no advice; 1 to 6 are")


class MemoryAsync(BaseMemory):
    """Memory in the order of a stream: given back in that order, without waiting."""

    @cupy_errors
    def __init__(self, size: int, stream: Any) -> None:
        self.size = size
        self.device_id = get_device_id()
        self.stream_ref: Callable[[], Any] = lambda: stream
        if size > 0:
            self._buffer = anyplace.Buffer(stream._stream, size)
            self.ptr = self._buffer.address


class SystemMemory(BaseMemory):
    """Memory of the host that the device reaches: pinned here, as not every device reaches all of it."""

    @cupy_errors
    def __init__(self, size: int) -> None:
        self.size = size
        self.device_id = get_device_id()
        self._host = anyplace.HostBuffer(_shared.device_at(self.device_id), size)
        self.ptr = self._host.address

    @classmethod
    def from_external(cls, ptr: int, size: int, owner: object) -> SystemMemory:
        memory = cls.__new__(cls)
        memory.ptr, memory.size, memory._owner = ptr, size, owner
        memory.device_id = get_device_id()
        return memory

    _owner: object = None


class UnownedMemory(BaseMemory):
    """Memory that `owner` has; it is kept as long as this."""

    @cupy_errors
    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        self.ptr = ptr
        self.size = size
        self._owner = owner
        if device_id < 0:
            known = anyplace.pointer_attributes(ptr)["device"] if ptr else None
            device_id = get_device_id() if known is None else known.index
        self.device_id = device_id

    @property
    def owner(self) -> object:
        return self._owner


def _address_of(memory: Any) -> int:
    """The number of a pointer: an int, a ctypes pointer, or an object with `ptr`."""
    if isinstance(memory, ctypes.c_void_p):
        return memory.value or 0
    if isinstance(memory, ctypes._Pointer):
        return ctypes.cast(memory, ctypes.c_void_p).value or 0
    return int(memory)


class MemoryPointer:
    """An address in a memory object, which it keeps."""

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        if mem.ptr == 0 and mem.size == 0 and offset == 0:
            self.ptr = 0
        else:
            self.ptr = mem.ptr + offset
        self.mem = mem
        self._offset = offset

    @property
    def device(self) -> Device:
        return Device(self.mem.device_id)

    @property
    def device_id(self) -> int:
        return self.mem.device_id

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self._offset + offset)

    __radd__ = __add__

    def __iadd__(self, offset: int) -> MemoryPointer:
        return self + offset

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def __isub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def __repr__(self) -> str:
        return f"<MemoryPointer {self.ptr:#x} device={self.device_id} mem={self.mem!r}>"

    def _blocking(self) -> anyplace.Stream:
        """The stream of calls that wait: the null stream, as in CUDA."""
        if _stream_module.get_current_stream()._stream.is_capturing:
            raise RuntimeError("the current stream is capturing, so synchronous API calls are disallowed")
        return _shared.device_at(self.device_id).default_stream

    @cupy_errors
    def _copy(self, to: int, source: int, size: int) -> None:
        if size > 0:
            stream = self._blocking()
            stream.copy_address(to, source, size)
            stream.synchronize()

    @cupy_errors
    def _copy_async(self, to: int, source: int, size: int, stream: Any) -> None:
        where = (_stream_module.get_current_stream() if stream is None else stream)._stream
        if size > 0:
            where.copy_address(to, source, size)

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        self._copy(self.ptr, src.ptr, size)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        self._copy_async(self.ptr, src.ptr, size, stream)

    def copy_from_host(self, mem: Any, size: int) -> None:
        self._copy(self.ptr, _address_of(mem), size)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        self._copy_async(self.ptr, _address_of(mem), size, stream)

    def copy_from(self, mem: Any, size: int) -> None:
        """From a pointer of a device or of the host."""
        self._copy(self.ptr, _address_of(mem), size)

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        self._copy_async(self.ptr, _address_of(mem), size, stream)

    def copy_to_host(self, mem: Any, size: int) -> None:
        self._copy(_address_of(mem), self.ptr, size)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        self._copy_async(_address_of(mem), self.ptr, size, stream)

    @cupy_errors
    def memset(self, value: int, size: int) -> None:
        if size > 0:
            stream = self._blocking()
            stream.fill_address(self.ptr, bytes([value & 0xFF]), size)
            stream.synchronize()

    @cupy_errors
    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        where = (_stream_module.get_current_stream() if stream is None else stream)._stream
        if size > 0:
            where.fill_address(self.ptr, bytes([value & 0xFF]), size)


# -- Functions that allocate.


def _malloc(size: int) -> MemoryPointer:
    return MemoryPointer(Memory(size), 0)


def malloc_managed(size: int) -> MemoryPointer:
    return MemoryPointer(ManagedMemory(size), 0)


def malloc_async(size: int) -> MemoryPointer:
    """In the order of the current stream."""
    return MemoryPointer(MemoryAsync(size, _stream_module.get_current_stream()), 0)


def malloc_system(size: int) -> MemoryPointer:
    return MemoryPointer(SystemMemory(size), 0)


class _ThreadAllocator(threading.local):
    def __init__(self) -> None:
        self.allocators: list[Callable[[int], MemoryPointer]] = []


_thread = _ThreadAllocator()
_current_allocator: Callable[[int], MemoryPointer] = _malloc


def alloc(size: int) -> MemoryPointer:
    """Calls the current allocator."""
    return get_allocator()(size)


def get_allocator() -> Callable[[int], MemoryPointer]:
    return _thread.allocators[-1] if _thread.allocators else _current_allocator


def set_allocator(allocator: Callable[[int], MemoryPointer] | None = None) -> None:
    """For all threads; None allocates from the device each time."""
    global _current_allocator
    if _thread.allocators:
        raise ValueError("Can't change the global allocator inside `using_allocator` context manager")
    _current_allocator = _malloc if allocator is None else allocator


@contextmanager
def using_allocator(allocator: Callable[[int], MemoryPointer] | None = None) -> Iterator[None]:
    """In the `with` statement, on this thread."""
    _thread.allocators.append(_malloc if allocator is None else allocator)
    try:
        yield
    finally:
        _thread.allocators.pop()


class _FunctionMemory(BaseMemory):
    """Memory of an application's two functions."""

    def __init__(self, size: int, ptr: int, free: Callable[[int, int], object]) -> None:
        self.size = size
        self.ptr = ptr
        self.device_id = get_device_id()
        self._free = free

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if self.ptr and not ends():
            self._free(self.ptr, self.device_id)
            self.ptr = 0


class PythonFunctionAllocator:
    """malloc(size, device_id) returns an address, free(address, device_id) takes it back."""

    def __init__(self, malloc_func: Callable[[int, int], int], free_func: Callable[[int, int], object]) -> None:
        self._malloc_func = malloc_func
        self._free_func = free_func

    def malloc(self, size: int) -> MemoryPointer:
        return MemoryPointer(_FunctionMemory(size, self._malloc_func(size, get_device_id()), self._free_func), 0)


class CFunctionAllocator:
    """The addresses of void* malloc(void* param, size_t size, int device) and void free(void* param, void*, int)."""

    def __init__(self, param: int, malloc_func: int, free_func: int, owner: object) -> None:
        self._param = param
        self._owner = owner
        self._malloc_func = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)(
            malloc_func
        )
        self._free_func = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(free_func)

    def malloc(self, size: int) -> MemoryPointer:
        address = self._malloc_func(self._param, size, get_device_id())
        return MemoryPointer(_FunctionMemory(size, address or 0, self._give_back), 0)

    def _give_back(self, address: int, device: int) -> None:
        self._free_func(self._param, address, device)


from ._pools import (  # noqa: E402  (the pools are made of the classes above)
    MemoryAsyncPool,
    MemoryPool,
    PooledMemory,
    SingleDeviceMemoryPool,
    _allocation_unit_size,
    _Chunk,
    _parse_limit_string,
    _round_size,
)

__all__ = [
    "BaseMemory",
    "CFunctionAllocator",
    "ManagedMemory",
    "Memory",
    "MemoryAsync",
    "MemoryAsyncPool",
    "MemoryPointer",
    "MemoryPool",
    "OutOfMemoryError",
    "PooledMemory",
    "PythonFunctionAllocator",
    "SingleDeviceMemoryPool",
    "SystemMemory",
    "UnownedMemory",
    "_Chunk",
    "_allocation_unit_size",
    "_malloc",
    "_parse_limit_string",
    "_round_size",
    "alloc",
    "get_allocator",
    "malloc_async",
    "malloc_managed",
    "malloc_system",
    "set_allocator",
    "using_allocator",
]
