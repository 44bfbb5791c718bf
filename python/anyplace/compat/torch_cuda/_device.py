# SPDX-License-Identifier: Apache-2.0
"""Devices: how many there are, which is current, what they can do, and how busy they are."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import anyplace

from .. import _shared
from ._errors import CudaError, DeferredCudaCallError, torch_errors

_DeviceIndex = Any

_queued: list[Callable[[], None]] = []
_lock = threading.Lock()
_pid: int | None = None
_sync_debug_mode = 0


def _same_index(device: _DeviceIndex) -> bool:
    return device is None or (isinstance(device, int) and device < 0)


def _index_of(device: _DeviceIndex) -> int:
    """The number of a device; the current one's for None and for negative numbers."""
    return _shared.current().index if _same_index(device) else _shared.index_of(device)


def _device_of(device: _DeviceIndex) -> anyplace.Device:
    init()
    return _shared.current() if _same_index(device) else _shared.device_at(_shared.index_of(device))


def _at_init(call: Callable[[], None]) -> None:
    """Calls it now, or at the first use if there was none yet."""
    if is_initialized():
        call()
    else:
        _queued.append(call)


@torch_errors
def init() -> None:
    """Loads the backend, once. Raises RuntimeError in a forked child of a process that used it."""
    global _pid
    if is_initialized():
        return
    with _lock:
        if _pid is not None and _pid != os.getpid():
            raise RuntimeError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
                "'spawn' start method"
            )
        _shared.device_at(0)
        _pid = os.getpid()
        _shared.mark_initialised()
    while _queued:
        call = _queued.pop(0)
        try:
            call()
        except Exception as error:
            raise DeferredCudaCallError(f"a call that waited for the first use failed: {error}") from error


def is_initialized() -> bool:
    return _pid == os.getpid()


def is_available() -> bool:
    """Whether there is a device. Never raises."""
    try:
        return _shared.count() > 0
    except Exception:
        return False


def device_count() -> int:
    return _shared.count() if is_available() else 0


@torch_errors
def current_device() -> int:
    init()
    return _shared.current().index


@torch_errors
def set_device(device: _DeviceIndex) -> None:
    """Makes the device current; negative numbers leave everything as it is."""
    if not _same_index(device):
        init()
        _shared.set_current(_shared.index_of(device))


@torch_errors
def synchronize(device: _DeviceIndex = None) -> None:
    """Waits for all streams of the device."""
    _device_of(device).synchronize()


class device:
    """with device(1): makes the device current and restores the former one; None and negative numbers do nothing."""

    def __init__(self, device: _DeviceIndex) -> None:
        self.idx = -1 if _same_index(device) else _shared.index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        if self.prev_idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """The device of an object that has one; nothing for others."""

    def __init__(self, obj: Any) -> None:
        where = getattr(obj, "device", None)
        super().__init__(where if isinstance(where, anyplace.Device) else -1)


class _Properties:
    """A device's properties, by torch's names. What the vendor can't tell is 0 or ""."""

    def __init__(self, where: anyplace.Device) -> None:
        facts = where.properties
        self.name = facts.name
        self.major, self.minor = _shared.capability_of(where)
        self.total_memory = facts.total_memory or 0
        self.multi_processor_count = facts.multiprocessors or facts.compute_units
        self.is_integrated = 0
        self.is_multi_gpu_board = 0
        self.max_threads_per_block = facts.max_threads_per_block
        self.max_threads_per_multi_processor = facts.max_threads_per_block
        self.gcnArchName = facts.architecture
        self.warp_size = max(facts.sub_group_sizes, default=1)
        self.uuid = facts.uuid
        self.L2_cache_size = facts.l2_cache_bytes or 0
        self.clock_rate = (facts.clock_hz or 0) // 1000
        self.memory_clock_rate = (facts.memory_clock_hz or 0) // 1000
        self.memory_bus_width = facts.memory_bus_bits or 0
        self.shared_memory_per_block = min(facts.max_shared_bytes, 49152)
        self.shared_memory_per_block_optin = facts.max_shared_bytes
        self.shared_memory_per_multiprocessor = facts.max_shared_bytes
        self.regs_per_multiprocessor = 0

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 1048576}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, L2_cache_size={self.L2_cache_size // 1048576}MB)"
        )


def _checked(device: _DeviceIndex, text: str) -> anyplace.Device:
    init()
    index = _index_of(device)
    if not 0 <= index < _shared.count():
        raise AssertionError(f"{text}: {index}; there are {_shared.count()} devices")
    return _shared.device_at(index)


def get_device_properties(device: _DeviceIndex = None) -> _Properties:
    return _Properties(_checked(device, "Invalid device id"))


def get_device_name(device: _DeviceIndex = None) -> str:
    return _checked(device, "Invalid device id").properties.name


def get_device_capability(device: _DeviceIndex = None) -> tuple[int, int]:
    return _shared.capability_of(_checked(device, "Invalid device id"))


def can_device_access_peer(device: _DeviceIndex, peer_device: _DeviceIndex) -> bool:
    mine, other = _checked(device, "Invalid device id"), _checked(peer_device, "Invalid peer device id")
    return mine != other and mine.can_access_peer(other)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return including_emulation or get_device_capability() >= (8, 0)


def is_tf32_supported() -> bool:
    return _shared.backend() == "cuda" and get_device_capability() >= (8, 0)


def get_arch_list() -> list[str]:
    """Empty: images are made for the device that is there."""
    return []


def get_gencode_flags() -> str:
    return ""


# -- How busy a device is.


def _figure(device: _DeviceIndex, name: str) -> float:
    where = _device_of(device)
    figure = anyplace.monitor.sample(where)[name]
    if figure is None:
        raise RuntimeError(f"{where}: the vendor doesn't tell {name}: {anyplace.monitor.source(where)}")
    return float(figure)


def utilization(device: _DeviceIndex = None) -> int:
    """Percent of the time in which a kernel ran."""
    return round(100 * _figure(device, "compute_utilization"))


def memory_usage(device: _DeviceIndex = None) -> int:
    """Percent of the time in which memory was read or written."""
    return round(100 * _figure(device, "memory_utilization"))


def temperature(device: _DeviceIndex = None) -> int:
    """Degrees Celsius."""
    return round(_figure(device, "temperature_celsius"))


def power_draw(device: _DeviceIndex = None) -> int:
    """Milliwatts."""
    return round(1000 * _figure(device, "power_watts"))


def clock_rate(device: _DeviceIndex = None) -> int:
    """MHz."""
    return round(_figure(device, "core_clock_hz") / 1e6)


def device_memory_used(device: _DeviceIndex = None) -> int:
    """Bytes, of all processes."""
    return round(_figure(device, "memory_used_bytes"))


def list_gpu_processes(device: _DeviceIndex = None) -> str:
    """A line for each process that uses the device, or a sentence that says why there is none."""
    where = _device_of(device)
    lines = [f"GPU:{where.index}"]
    try:
        processes = where.processes()
    except anyplace.UnsupportedError as error:
        return f"the processes of {where} can't be listed: {error.problem}"
    for each in processes:
        lines.append(f"process {each['id']:>10d} uses {(each['memory_bytes'] or 0) / 1048576:>12.3f} MB GPU memory")
    return "\n".join(lines if processes else [*lines, "no processes are running"])


# -- What waits.


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Keeps the mode for get_sync_debug_mode; nothing warns."""
    global _sync_debug_mode
    modes = {"default": 0, "warn": 1, "error": 2}
    if isinstance(debug_mode, str):
        if debug_mode not in modes:
            raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`: {debug_mode}")
        debug_mode = modes[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected one of 0, 1, 2: {debug_mode}")
    _sync_debug_mode = debug_mode


def get_sync_debug_mode() -> int:
    return _sync_debug_mode


class cudaStatus:
    SUCCESS = 0
    ERROR_NOT_READY = 34


def check_error(res: int) -> None:
    """Raises CudaError for another number than 0."""
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)
