# SPDX-License-Identifier: Apache-2.0
"""Buffer, and the memory resources that give them out."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import anyplace

from .. import _shared
from ._errors import core_errors
from ._streams import Stream, _options, stream_of


class MemoryResource(abc.ABC):
    """Derive from it to give out memory of your own."""

    @abc.abstractmethod
    def allocate(self, size: int, *, stream: Any) -> Buffer:
        """Memory in the order of the stream."""

    @abc.abstractmethod
    def deallocate(self, ptr: int, size: int, *, stream: Any) -> None:
        """Takes memory back in the order of the stream."""

    @property
    @abc.abstractmethod
    def is_device_accessible(self) -> bool: ...

    @property
    @abc.abstractmethod
    def is_host_accessible(self) -> bool: ...

    @property
    @abc.abstractmethod
    def device_id(self) -> int:
        """The device's number; -1 for memory of the host."""

    is_managed = False


class Buffer:
    """Memory of a resource. It goes back on the stream that it was allocated on, unless close() names another."""

    _address: int
    _size: int
    _resource: MemoryResource | None
    _owner: Any
    _memory: Any
    _stream: anyplace.Stream | None

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise RuntimeError("Buffer objects cannot be instantiated directly. Please use MemoryResource APIs.")

    @classmethod
    def _of(
        cls, address: int, size: int, resource: MemoryResource | None, memory: Any, stream: anyplace.Stream | None
    ) -> Buffer:
        buffer = cls.__new__(cls)
        buffer._address, buffer._size, buffer._resource = address, size, resource
        buffer._owner, buffer._memory, buffer._stream = None, memory, stream
        return buffer

    @classmethod
    def from_handle(
        cls, ptr: int, size: int, mr: MemoryResource | None = None, owner: Any = None, *, stream: Any = None
    ) -> Buffer:
        """Memory that `owner` has, or that goes back to `mr`."""
        if mr is not None and owner is not None:
            raise ValueError("owner and memory resource cannot be both specified together")
        buffer = cls._of(int(ptr), size, mr, None, None if stream is None else stream_of(stream))
        buffer._owner = owner
        return buffer

    @core_errors
    def copy_to(self, dst: Buffer | None = None, *, stream: Any, options: Any = None) -> Buffer:
        """Copies to `dst`, or to a new buffer of the same resource, and returns it."""
        if dst is None:
            if self._resource is None:
                raise ValueError("a destination buffer must be provided (this buffer does not have a memory_resource)")
            dst = self._resource.allocate(self._size, stream=stream)
        if dst._size != self._size:
            raise ValueError(
                f"buffer sizes mismatch between src and dst (sizes are: src={self._size}, dst={dst._size})"
            )
        stream_of(stream).copy_address(dst._address, self._address, self._size)
        return dst

    @core_errors
    def copy_from(self, src: Buffer, *, stream: Any, options: Any = None) -> None:
        if src._size != self._size:
            raise ValueError(
                f"buffer sizes mismatch between src and dst (sizes are: src={src._size}, dst={self._size})"
            )
        stream_of(stream).copy_address(self._address, src._address, self._size)

    @core_errors
    def fill(self, value: Any, *, stream: Any) -> None:
        """With a byte, or with 1, 2 or 4 bytes again and again."""
        if isinstance(value, int):
            if not 0 <= value <= 255:
                raise OverflowError(f"value must be in range [0, 256), got {value}")
            pattern = bytes([value])
        else:
            pattern = bytes(value)
            if len(pattern) not in (1, 2, 4):
                raise ValueError(f"value must be 1, 2, or 4 bytes, got {len(pattern)}")
        if self._size % len(pattern) != 0:
            raise ValueError(f"buffer size ({self._size}) must be divisible by {len(pattern)}")
        stream_of(stream).fill_address(self._address, pattern, self._size)

    def set_deallocation_stream(self, stream: Any) -> None:
        """The stream in whose order the memory goes back."""
        self._stream = stream_of(stream)

    @core_errors
    def close(self, stream: Any = None) -> None:
        """Gives the memory back, in the order of `stream`."""
        if self._address == 0:
            return
        where = self._stream if stream is None else stream_of(stream)
        memory, address, self._memory, self._address = self._memory, self._address, None, 0
        if isinstance(memory, anyplace.Buffer | anyplace.HostBuffer) and where is not None:
            memory.record_stream(where)
        elif memory is None and self._resource is not None and where is not None:
            self._resource.deallocate(
                address, self._size, stream=Stream._of(_shared.ref_of(where), _shared.stream_handle(where))
            )
        self._owner = None

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            pass  # its stream, its device or the interpreter is gone, and so is the memory

    @property
    def handle(self) -> int:
        return self._address

    @property
    def size(self) -> int:
        return self._size

    @property
    def memory_resource(self) -> MemoryResource | None:
        return self._resource

    @property
    def owner(self) -> Any:
        return self._owner

    def _kind(self) -> str:
        return str(anyplace.pointer_attributes(self._address)["kind"]) if self._address else "unknown"

    @property
    def is_device_accessible(self) -> bool:
        return self._resource.is_device_accessible if self._resource else self._kind() != "unknown"

    @property
    def is_host_accessible(self) -> bool:
        return self._resource.is_host_accessible if self._resource else self._kind() != "device"

    @property
    def is_managed(self) -> bool:
        return self._resource.is_managed if self._resource else self._kind() == "managed"

    @property
    def is_mapped(self) -> bool:
        """Whether it is another process's memory."""
        return False

    @property
    def device_id(self) -> int:
        if self._resource is not None:
            return self._resource.device_id
        device = anyplace.pointer_attributes(self._address)["device"] if self._address else None
        return -1 if device is None else int(device.index)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"<Buffer ptr={self._address:#x} size={self._size}>"


@dataclasses.dataclass
class DeviceMemoryResourceOptions:
    ipc_enabled: bool = False
    max_size: int = 0


@dataclasses.dataclass
class PinnedMemoryResourceOptions:
    ipc_enabled: bool = False
    max_size: int = 0
    numa_id: int | None = None


class _DeviceResource(MemoryResource):
    """What the resources of a device share."""

    def __init__(self, device_id: Any = None) -> None:
        self._index = _shared.current().index if device_id is None else int(device_id)

    @property
    def _device(self) -> anyplace.Device:
        return _shared.device_at(self._index)

    @property
    def device_id(self) -> int:
        return self._index

    @property
    def is_device_accessible(self) -> bool:
        return True

    @property
    def is_host_accessible(self) -> bool:
        return False

    def deallocate(self, ptr: int, size: int, *, stream: Any) -> None:
        raise RuntimeError("deallocate: buffers of this resource give their memory back by close()")


class DeviceMemoryResource(_DeviceResource):
    """anyplace's allocator: memory in the order of a stream, from a pool of its own."""

    def __init__(self, device_id: Any = None, options: Any = None) -> None:
        super().__init__(device_id)
        chosen = _options(options, DeviceMemoryResourceOptions)
        self.is_ipc_enabled = bool(chosen.ipc_enabled)
        self._pool = anyplace.MemoryPool(self._device, limit_bytes=chosen.max_size or None)

    @core_errors
    def allocate(self, size: int, *, stream: Any) -> Buffer:
        where = stream_of(stream)
        with self._pool:
            memory = anyplace.Buffer(where, size, shareable=self.is_ipc_enabled)
        return Buffer._of(memory.address, size, self, memory, where)

    @property
    def peer_accessible_by(self) -> set[int]:
        """The devices that reach this device's memory: all that the vendor lets."""
        devices = anyplace.devices(_shared.backend())
        return {each.index for each in devices if each != self._device and each.can_access_peer(self._device)}


class ManagedMemoryResource(_DeviceResource):
    """Memory that host and device share."""

    is_managed = True

    @core_errors
    def allocate(self, size: int, *, stream: Any) -> Buffer:
        where = stream_of(stream)
        memory = anyplace.Buffer(where, size, kind="managed")
        return Buffer._of(memory.address, size, self, memory, where)

    @property
    def is_host_accessible(self) -> bool:
        return True


class PinnedMemoryResource(_DeviceResource):
    """Memory of the host that the device reads and writes directly."""

    def __init__(self, options: Any = None) -> None:
        super().__init__()
        chosen = _options(options, PinnedMemoryResourceOptions)
        if chosen.ipc_enabled:
            raise NotImplementedError(
                "PinnedMemoryResource: pinned memory isn't shared between processes; docs/compat.md lists what there is"
            )

    @core_errors
    def allocate(self, size: int, *, stream: Any = None) -> Buffer:
        memory = anyplace.HostBuffer(self._device, size)
        return Buffer._of(memory.address, size, self, memory, None if stream is None else stream_of(stream))

    @property
    def device_id(self) -> int:
        return -1

    @property
    def is_host_accessible(self) -> bool:
        return True


class LegacyPinnedMemoryResource(PinnedMemoryResource):
    """The same memory; its options are none."""

    def __init__(self) -> None:
        super().__init__()


_GRAPHS = "buffers that are allocated in a capture come from the graph's pool by themselves"
GraphMemoryResource = _shared.refusing("GraphMemoryResource", _GRAPHS)
VirtualMemoryResource = _shared.refusing(
    "VirtualMemoryResource", "reservations of addresses aren't part of the Python package"
)
