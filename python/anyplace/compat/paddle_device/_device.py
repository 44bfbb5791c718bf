# SPDX-License-Identifier: Apache-2.0
"""Paddle's places and devices: which is expected, and what there is."""

from __future__ import annotations

import threading
from typing import Any

import anyplace

from .. import _shared

_NAMES = ("gpu", "cuda")
_expected = threading.local()


class Place:
    """A device's memory, as Paddle names it: gpu:0, or the CPU's."""

    def __init__(self, kind: str, index: int = 0) -> None:
        self._kind = kind
        self._index = index

    def is_gpu_place(self) -> bool:
        return self._kind == "gpu"

    def is_cpu_place(self) -> bool:
        return self._kind == "cpu"

    def gpu_device_id(self) -> int:
        return self._index

    get_device_id = gpu_device_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and (self._kind, self._index) == (other._kind, other._index)

    def __hash__(self) -> int:
        return hash((self._kind, self._index))

    def __repr__(self) -> str:
        return "Place(cpu)" if self._kind == "cpu" else f"Place({self._kind}:{self._index})"


class CPUPlace(Place):
    def __init__(self) -> None:
        super().__init__("cpu")


class CUDAPlace(Place):
    def __init__(self, id: int) -> None:
        if not 0 <= id < _shared.count():
            raise ValueError(f"The device {id} isn't there: there are {_shared.count()}")
        super().__init__("gpu", id)


def _parsed(device: Any) -> tuple[str, int]:
    """("gpu", 1) or ("cpu", 0). Raises ValueError."""
    if device is None:
        if getattr(_expected, "cpu", False):
            return "cpu", 0
        return "gpu", _shared.current().index
    if isinstance(device, Place):
        return device._kind, device._index
    if isinstance(device, bool):
        raise ValueError(f"device: {device} is no device; an int, 'gpu:0', 'cpu' or a Place is")
    if isinstance(device, int):
        if device < 0:
            raise ValueError(f"device: {device} is negative")
        return "gpu", device
    if isinstance(device, anyplace.Device):
        return "gpu", device.index
    if isinstance(device, str):
        if device == "cpu":
            return "cpu", 0
        try:
            index = _shared.index_of_text(device, (*_NAMES, _shared.backend()))
        except ValueError as error:
            raise ValueError(
                "The device must be a string which is like 'cpu', 'gpu', 'gpu:x' or "
                f"'{_shared.backend()}:x', not {device!r}"
            ) from error
        return "gpu", _shared.current().index if index is None else index
    raise ValueError(f"device: a {type(device).__name__} is no device; an int, 'gpu:0', 'cpu' or a Place is")


def _gpu(device: Any, cpu_error: type[Exception] = TypeError) -> anyplace.Device:
    kind, index = _parsed(device)
    if kind == "cpu":
        raise cpu_error("device should be gpu, xpu, or a custom device, not cpu")
    if not 0 <= index < _shared.count():
        raise ValueError(f"The device id {index} isn't there: there are {_shared.count()} devices")
    return _shared.device_at(index)


def set_device(device: Any) -> Place:
    """Makes the device the expected place of this thread."""
    kind, index = _parsed(device)
    _expected.cpu = kind == "cpu"
    if kind == "cpu":
        return CPUPlace()
    anyplace.set_current_device(_gpu(index))
    return CUDAPlace(index)


def get_device() -> str:
    """ "gpu:0", or "cpu"."""
    kind, index = _parsed(None)
    return "cpu" if kind == "cpu" else f"gpu:{index}"


def current_device() -> int:
    return _shared.current().index


def device_count(device_type: str | None = None) -> int:
    """Of the backend; 0 for a kind that isn't its."""
    if device_type is not None and device_type not in (*_NAMES, _shared.backend()):
        if device_type in ("cpu", "xpu"):
            return 1 if device_type == "cpu" else 0
        raise ValueError(f"device_type: {device_type!r} is none of {get_all_device_type()}")
    return _shared.count()


def is_available() -> bool:
    """Whether there is a device. Never raises."""
    try:
        return _shared.count() > 0
    except Exception:
        return False


def get_all_device_type() -> list[str]:
    return ["cpu", "gpu"]


def get_all_custom_device_type() -> list[str]:
    """Empty: the backend's devices are called gpu."""
    return []


def get_available_device() -> list[str]:
    return ["cpu", *(f"gpu:{index}" for index in range(_shared.count()))]


def get_available_custom_device() -> list[str]:
    return []


def is_compiled_with_cuda() -> bool:
    """True: what is written for gpu runs here, on whatever backend there is."""
    return True


def is_compiled_with_rocm() -> bool:
    return False


def is_compiled_with_xpu() -> bool:
    return False


def is_compiled_with_ipu() -> bool:
    return False


def is_compiled_with_cinn() -> bool:
    return False


def is_compiled_with_distribute() -> bool:
    return False


def is_compiled_with_custom_device(device_type: str) -> bool:
    return False


def get_cudnn_version() -> int | None:
    """None: there is no cuDNN here."""
    return None


class _Properties:
    """Paddle's five facts of a device."""

    def __init__(self, device: anyplace.Device) -> None:
        facts = device.properties
        self.name = facts.name
        self.major, self.minor = _shared.capability_of(device)
        self.total_memory = facts.total_memory or 0
        self.multi_processor_count = facts.multiprocessors or facts.compute_units

    def __repr__(self) -> str:
        return (
            f"_gpuDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 1048576}MB, multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device: Any = None) -> _Properties:
    return _Properties(_gpu(device, ValueError))


def get_device_name(device: Any = None) -> str:
    return _gpu(device, ValueError).properties.name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    return _shared.capability_of(_gpu(device, ValueError))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return including_emulation or get_device_capability() >= (8, 0)


class device_guard:
    """with device_guard("gpu:1"): makes the device the expected place and restores the former one."""

    def __init__(self, device: Any) -> None:
        if not isinstance(device, str | int | Place | anyplace.Device) or isinstance(device, bool):
            raise ValueError(f"device: a {type(device).__name__} is no device; an int, 'gpu:0', 'cpu' or a Place is")
        self._device = _parsed(device)
        self._former: tuple[bool, int] | None = None

    def __enter__(self) -> None:
        self._former = (getattr(_expected, "cpu", False), _shared.current().index)
        kind, index = self._device
        set_device("cpu" if kind == "cpu" else index)

    def __exit__(self, *exception: object) -> None:
        assert self._former is not None
        cpu, index = self._former
        set_device(index)
        _expected.cpu = cpu


class Device(str):
    """A device's name, "cuda:0" or "cpu", which is a str and a context manager: Device("gpu:0"), Device("gpu", 0)."""

    type: str
    index: int | None  # type: ignore[assignment]
    _guards: list[device_guard]

    def __new__(cls, type: Any = None, index: int | None = None) -> Device:
        kind, number = _parsed(type if index is None else f"{type}:{index}")
        kind = "cuda" if kind == "gpu" else kind
        made = str.__new__(cls, "cpu" if kind == "cpu" else f"{kind}:{number}")
        made.type = kind
        made.index = None if kind == "cpu" else number
        made._guards = []
        return made

    def __enter__(self) -> Device:
        guard = device_guard(str(self))
        guard.__enter__()
        self._guards.append(guard)
        return self

    def __exit__(self, *exception: object) -> None:
        self._guards.pop().__exit__(*exception)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's numbers of the kind and the device."""
        if self.type == "cpu":
            return 1, 0
        kinds = {"cuda": 2, "hip": 10, "levelzero": 14, "opencl": 4}
        return kinds.get(_shared.backend(), 1), self.index or 0
