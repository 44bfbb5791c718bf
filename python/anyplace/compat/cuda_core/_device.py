# SPDX-License-Identifier: Apache-2.0
"""Device: one object for each number and thread."""

from __future__ import annotations

import threading
from typing import Any

import anyplace

from .. import _shared
from ._errors import CUDAError, core_errors
from ._memory import Buffer, DeviceMemoryResource, MemoryResource
from ._streams import LEGACY_DEFAULT_STREAM, Context, Event, Stream

_thread = threading.local()


class ComputeCapability(tuple[int, int]):
    """(major, minor)."""

    @property
    def major(self) -> int:
        return self[0]

    @property
    def minor(self) -> int:
        return self[1]


class DeviceProperties:
    """A device's properties, by cuda.core's names."""

    def __init__(self, device: anyplace.Device) -> None:
        facts = device.properties
        major, minor = _shared.capability_of(device)
        self.max_threads_per_block = facts.max_threads_per_block
        self.max_block_dim_x, self.max_block_dim_y, self.max_block_dim_z = facts.max_block
        self.max_grid_dim_x, self.max_grid_dim_y, self.max_grid_dim_z = facts.max_grid
        self.max_shared_memory_per_block = facts.max_shared_bytes
        self.max_shared_memory_per_block_optin = facts.max_shared_bytes
        self.warp_size = max(facts.sub_group_sizes, default=1)
        self.clock_rate = (facts.clock_hz or 0) // 1000
        self.memory_clock_rate = (facts.memory_clock_hz or 0) // 1000
        self.global_memory_bus_width = facts.memory_bus_bits or 0
        self.l2_cache_size = facts.l2_cache_bytes or 0
        self.multiprocessor_count = facts.multiprocessors or facts.compute_units
        self.compute_capability_major = major
        self.compute_capability_minor = minor
        self.unified_addressing = bool(facts.unified_addressing)
        self.managed_memory = device.has("managed_memory")
        self.memory_pools_supported = True
        self.stream_priorities_supported = device.has("priorities")
        self.host_register_supported = device.has("host_register")


class Device:
    """A device. Device(1) is one object on each thread; set_current() comes before its use."""

    _id: int
    _resource: MemoryResource | None

    def __new__(cls, device_id: int | Device | None = None) -> Device:
        if isinstance(device_id, Device):
            device_id = device_id._id
        index = _shared.current().index if device_id is None else int(device_id)
        if index < 0:
            raise ValueError(f"device_id must be >= 0, got {index}")
        if index >= _shared.count():
            raise ValueError(f"device_id must be within [0, {_shared.count()}), got {index}")
        if not hasattr(_thread, "devices"):
            _thread.devices = {}
        known: dict[int, Device] = _thread.devices
        if index not in known:
            device = super().__new__(cls)
            device._id = index
            device._resource = None
            known[index] = device
        return known[index]

    @staticmethod
    def get_all_devices() -> tuple[Device, ...]:
        return tuple(Device(index) for index in range(_shared.count()))

    @property
    def _device(self) -> anyplace.Device:
        return _shared.device_at(self._id)

    def _checked(self) -> anyplace.Device:
        if not getattr(_thread, "current", False):
            raise CUDAError(
                f"Device {self._id} is not yet initialized, perhaps you forgot to call .set_current() first?"
            )
        return self._device

    @core_errors
    def set_current(self, ctx: Context | None = None) -> Context | None:
        """Makes the device current on this thread. With a context of it, returns the former one."""
        former = Context(_shared.current())
        if ctx is not None:
            if not isinstance(ctx, Context):
                raise TypeError(f"ctx: it is a Context, not a {type(ctx).__name__}")
            if ctx._device != self._device:
                raise RuntimeError("the provided context was created on the device with another id")
        anyplace.set_current_device(self._device)
        _thread.current = True
        return None if ctx is None else former

    @property
    def device_id(self) -> int:
        return self._id

    @property
    def name(self) -> str:
        return self._device.properties.name

    @property
    def uuid(self) -> str:
        return self._device.properties.uuid

    @property
    def pci_bus_id(self) -> str:
        return self._device.properties.pci

    @property
    def properties(self) -> DeviceProperties:
        return DeviceProperties(self._device)

    @property
    def compute_capability(self) -> ComputeCapability:
        return ComputeCapability(_shared.capability_of(self._device))

    @property
    def arch(self) -> str:
        """ "90" on CUDA's devices; else the backend's word for the architecture."""
        if _shared.backend() == "cuda":
            major, minor = self.compute_capability
            return f"{major}{minor}"
        return self._device.properties.architecture

    @property
    def context(self) -> Context:
        return Context(self._checked())

    @property
    def default_stream(self) -> Stream:
        return LEGACY_DEFAULT_STREAM

    @property
    def memory_resource(self) -> MemoryResource:
        if self._resource is None:
            self._resource = DeviceMemoryResource(self)
        return self._resource

    @memory_resource.setter
    def memory_resource(self, resource: MemoryResource) -> None:
        if not isinstance(resource, MemoryResource):
            raise TypeError(f"memory_resource: it is a MemoryResource, not a {type(resource).__name__}")
        self._resource = resource

    def create_stream(self, obj: Any = None, options: Any = None) -> Stream:
        """A stream of its own, or another library's by __cuda_stream__."""
        self._checked()
        stream: Stream = Stream._init(obj, options, self._id)
        return stream

    def create_event(self, options: Any = None) -> Event:
        return Event._make(self._checked(), options)

    def allocate(self, size: int, *, stream: Any) -> Buffer:
        self._checked()
        return self.memory_resource.allocate(size, stream=stream)

    @core_errors
    def sync(self) -> None:
        self._checked().synchronize()

    def create_graph_builder(self) -> Any:
        """A builder with a stream of its own."""
        from ._graphs import GraphBuilder

        return GraphBuilder._of(self.create_stream())

    create_context = _shared.refusing("Device.create_context", "a device has its primary context")
    to_system_device = _shared.refusing("Device.to_system_device", "anyplace.monitor has the figures")

    def can_access_peer(self, peer: int | Device) -> bool:
        other = Device(peer)
        return other._id != self._id and self._device.can_access_peer(other._device)

    def __int__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._id == other._id

    def __hash__(self) -> int:
        return hash((Device, self._id))

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self._id,)

    def __repr__(self) -> str:
        return f"<Device {self._id} ({self.name})>"
