# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.device: Device, and the calling thread's current one."""

from __future__ import annotations

import re
import threading
from typing import Any

import anyplace

from .. import _shared
from ._errors import CUDARuntimeError, cupy_errors

_entered = threading.local()


class Device:
    """A device's number, looked up when it is used. `with device:` makes it current and restores the former one."""

    def __init__(self, device: Any = None) -> None:
        if device is None:
            self.id = get_device_id()
        else:
            self.id = int(device)

    @classmethod
    @cupy_errors
    def from_pci_bus_id(cls, pci_bus_id: str) -> Device:
        if not re.fullmatch(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(\.[0-9a-fA-F])?", pci_bus_id):
            raise CUDARuntimeError(1, f"{pci_bus_id!r} is no PCI address such as 0000:17:00.0")
        for each in anyplace.devices(_shared.backend()):
            if each.properties.pci.lower() == pci_bus_id.lower():
                return cls(each.index)
        raise CUDARuntimeError(101, f"no device has the PCI address {pci_bus_id}")

    @property
    def _device(self) -> anyplace.Device:
        if self.id < 0:
            raise CUDARuntimeError(101, f"there is no device {self.id}")
        return _shared.device_at(self.id)

    @cupy_errors
    def use(self) -> Device:
        """Makes the device current."""
        anyplace.set_current_device(self._device)
        _shared.mark_initialised()
        return self

    @cupy_errors
    def synchronize(self) -> None:
        self._device.synchronize()

    def __int__(self) -> int:
        return self.id

    def __enter__(self) -> Device:
        former = get_device_id()
        self.use()
        if not hasattr(_entered, "stack"):
            _entered.stack = []
        _entered.stack.append(former)
        return self

    def __exit__(self, *exception: object) -> None:
        _shared.set_current(_entered.stack.pop())

    @property
    @cupy_errors
    def compute_capability(self) -> str:
        """ "86": major and minor. A device without such numbers has "00"."""
        major, minor = _shared.capability_of(self._device)
        return f"{major}{minor}"

    @property
    @cupy_errors
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes."""
        return _shared.mem_get_info(self._device)

    @property
    @cupy_errors
    def attributes(self) -> dict[str, int]:
        """The device's attributes that the backend tells, by CUDA's names without cudaDevAttr."""
        return _attributes_of(self._device)

    @property
    @cupy_errors
    def pci_bus_id(self) -> str:
        return self._device.properties.pci

    @property
    def cublas_handle(self) -> int:
        raise NotImplementedError("Device.cublas_handle: it has no meaning off CUDA")

    cusolver_handle = cusolver_sp_handle = cusparse_handle = cutensor_handle = cublas_handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    __hash__ = None  # type: ignore[assignment]

    def _other(self, other: object) -> int | None:
        return other.id if isinstance(other, Device) else None

    def __lt__(self, other: object) -> bool:
        number = self._other(other)
        return NotImplemented if number is None else self.id < number

    def __le__(self, other: object) -> bool:
        number = self._other(other)
        return NotImplemented if number is None else self.id <= number

    def __gt__(self, other: object) -> bool:
        number = self._other(other)
        return NotImplemented if number is None else self.id > number

    def __ge__(self, other: object) -> bool:
        number = self._other(other)
        return NotImplemented if number is None else self.id >= number

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


def _attributes_of(device: anyplace.Device) -> dict[str, int]:
    facts = device.properties
    major, minor = _shared.capability_of(device)
    found: dict[str, int | None] = {
        "MaxThreadsPerBlock": facts.max_threads_per_block,
        "MaxBlockDimX": facts.max_block[0],
        "MaxBlockDimY": facts.max_block[1],
        "MaxBlockDimZ": facts.max_block[2],
        "MaxGridDimX": facts.max_grid[0],
        "MaxGridDimY": facts.max_grid[1],
        "MaxGridDimZ": facts.max_grid[2],
        "MaxSharedMemoryPerBlock": facts.max_shared_bytes,
        "MaxSharedMemoryPerBlockOptin": facts.max_shared_bytes,
        "WarpSize": max(facts.sub_group_sizes, default=1),
        "MultiProcessorCount": facts.multiprocessors or facts.compute_units,
        "ComputeCapabilityMajor": major,
        "ComputeCapabilityMinor": minor,
        "ClockRate": None if facts.clock_hz is None else facts.clock_hz // 1000,
        "MemoryClockRate": None if facts.memory_clock_hz is None else facts.memory_clock_hz // 1000,
        "GlobalMemoryBusWidth": facts.memory_bus_bits,
        "L2CacheSize": facts.l2_cache_bytes,
        "UnifiedAddressing": None if facts.unified_addressing is None else int(facts.unified_addressing),
        "ManagedMemory": int(device.has("managed_memory")),
        "StreamPrioritiesSupported": int(device.has("priorities")),
        "HostRegisterSupported": int(device.has("host_register")),
        "MemoryPoolsSupported": 1,
    }
    return {name: figure for name, figure in found.items() if figure is not None}


@cupy_errors
def get_device_id() -> int:
    return _shared.current().index


def get_compute_capability() -> str:
    return Device().compute_capability


@cupy_errors
def from_pointer(ptr: int) -> Device:
    """The device whose memory the address is in."""
    known = anyplace.pointer_attributes(ptr)["device"]
    if known is None:
        raise CUDARuntimeError(1, f"{ptr:#x} is no address of a device's memory")
    return Device(known.index)


get_cublas_handle = _shared.refusing("get_cublas_handle", "it has no meaning off CUDA")
get_cusolver_handle = _shared.refusing("get_cusolver_handle", "it has no meaning off CUDA")
get_cusolver_sp_handle = _shared.refusing("get_cusolver_sp_handle", "it has no meaning off CUDA")
get_cusparse_handle = _shared.refusing("get_cusparse_handle", "it has no meaning off CUDA")
