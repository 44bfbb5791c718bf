# SPDX-License-Identifier: Apache-2.0
"""What the compat modules share: the backend behind their device numbers, handles, and the words of refusals.

It has no behaviour of one original; each module does as its own does.
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import anyplace

from .._core import Buffer, Device, Event, MemoryPool, Stream

_Function = TypeVar("_Function", bound=Callable[..., Any])

_backend: str | None = None
_initialised_in: int | None = None
_thread = threading.local()

LEGACY_HANDLE = 1
PER_THREAD_HANDLE = 2


def use(backend: str) -> None:
    """Makes the compat modules use a backend's devices: "cpu_sim", "cuda". Loads nothing; "auto" looks at first use."""
    global _backend
    if not isinstance(backend, str):
        raise TypeError("backend: it is a str, such as 'cpu_sim'")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", backend):
        raise ValueError(f"backend: {backend!r} is no backend's name; anyplace.backends() lists those that there are")
    _backend = None if backend == "auto" else backend


def backend() -> str:
    """The backend whose devices the compat modules use. Loads its plugin."""
    global _backend
    if _backend is None:
        place = os.environ.get("ANYPLACE_COMPAT", "auto")
        _backend = Device(place).backend
    return _backend


def is_cuda_like() -> bool:
    """Whether the backend has CUDA's or HIP's handles."""
    return backend() in ("cuda", "hip")


# -- Devices.


def count() -> int:
    try:
        return len(anyplace.devices(backend()))
    except anyplace.NoDeviceError:
        return 0


def device_at(index: int) -> Device:
    """The device of that number. Raises anyplace.NoDeviceError."""
    return Device(f"{backend()}:{index}")


def current() -> Device:
    mark_initialised()
    return anyplace.current_device(backend())


def set_current(index: int) -> None:
    mark_initialised()
    anyplace.set_current_device(device_at(index))


def mark_initialised() -> None:
    global _initialised_in
    _initialised_in = os.getpid()
    _thread.uses = True


def thread_uses_device() -> bool:
    """Whether this thread has used a device through a compat module."""
    return getattr(_thread, "uses", False)


def initialised() -> bool:
    """Whether this process has used a device through a compat module; false in a forked child."""
    return _initialised_in == os.getpid()


def index_of_text(text: str, names: tuple[str, ...]) -> int | None:
    """The number in "cuda:1", None for "cuda". Raises ValueError for another name than `names` or the backend's."""
    name, colon, number = text.partition(":")
    if name not in names and name != (_backend or name):
        raise ValueError(f"Expected a {names[0]} device, but got: {text}")
    if not colon:
        return None
    if not number.isdigit():
        raise ValueError(f"Invalid device string: '{text}'; a device is written {names[0]}:0")
    return int(number)


def index_of(device: Any, names: tuple[str, ...] = ("cuda", "gpu")) -> int:
    """The number of an int, a text, an anyplace.Device, or an object with `index`; of the current device for None."""
    if device is None:
        return current().index
    if isinstance(device, bool):
        raise ValueError(f"Expected a {names[0]} device, but got: {device}")
    if isinstance(device, str):
        found = index_of_text(device, names)
        return current().index if found is None else found
    if isinstance(device, Device):
        return device.index
    if hasattr(device, "__index__"):
        return int(device.__index__())
    kind = getattr(device, "type", names[0])
    if kind not in names and kind != backend():
        raise ValueError(f"Expected a {names[0]} device, but got: {device}")
    found = getattr(device, "index", None)
    if callable(found) or not hasattr(device, "index"):
        raise ValueError(f"Expected a {names[0]} device, but got: {device!r}")
    return current().index if found is None else int(found)


# -- Handles. Where the vendor has none, a handle is the number by which anyplace names the object.


class StreamRef:
    """A stream with the number that others know it by, as long as somebody holds this."""

    __slots__ = ("__weakref__", "handle", "keep", "stream")

    def __init__(self, stream: Stream, handle: int, keep: object = None) -> None:
        self.stream = stream
        self.handle = handle
        self.keep = keep
        if handle > PER_THREAD_HANDLE:
            _streams[handle] = self
            _by_id[stream.id] = self


_streams: weakref.WeakValueDictionary[int, StreamRef] = weakref.WeakValueDictionary()
_by_id: weakref.WeakValueDictionary[int, StreamRef] = weakref.WeakValueDictionary()


def stream_handle(stream: Stream) -> int:
    """The vendor's handle; 0 for the null stream."""
    if stream == stream.device.default_stream:
        return 0
    return stream.native_handle() if is_cuda_like() else stream.id


def event_handle(event: Event) -> int:
    return event.native_handle() if is_cuda_like() else event.id


def ref_of(stream: Stream) -> StreamRef:
    known = _by_id.get(stream.id)  # a stream that is captured doesn't tell the vendor's handle
    return StreamRef(stream, stream_handle(stream)) if known is None else known


def ref_of_handle(handle: int, device: Device) -> StreamRef:
    """The stream of a handle: 0 and 1 are the null stream, 2 the thread's own. Raises ValueError for an unknown one."""
    if handle in (0, LEGACY_HANDLE):
        return StreamRef(device.default_stream, handle)
    if handle == PER_THREAD_HANDLE:
        return StreamRef(device.per_thread_stream, handle)
    known = _streams.get(handle)
    if known is not None:
        return known
    if is_cuda_like():
        return StreamRef(Stream.from_external(handle, device), handle)
    raise ValueError(
        f"stream: {handle:#x} is no stream of this process; {backend()} has no handles of other libraries' streams"
    )


def handle_of_protocol(stream: Any) -> int:
    """The handle that an object's __cuda_stream__ returns. Raises TypeError."""
    method = getattr(stream, "__cuda_stream__", None)
    if method is None:
        raise TypeError(f"'{type(stream).__name__}' does not implement the __cuda_stream__ protocol")
    answer = method()
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TypeError(f"__cuda_stream__ must return a 2-tuple of a version and a handle, not {answer!r}")
    version, handle = answer
    if not isinstance(version, int) or not isinstance(handle, int):
        raise TypeError(f"__cuda_stream__ must return (int, int), not {answer!r}")
    if version != 0:
        raise TypeError(f"__cuda_stream__ has the unsupported version {version}; only version 0 is known")
    return handle


# -- Errors.


def translating(make: Callable[[anyplace.Error], BaseException | None]) -> Callable[[_Function], _Function]:
    """A decorator: an anyplace.Error becomes what `make` makes of it, or stays itself if that is None."""

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def translated(*args: Any, **keywords: Any) -> Any:
            try:
                return function(*args, **keywords)
            except anyplace.Error as error:
                other = make(error)
                if other is None:
                    raise
                raise other from error

        return translated  # type: ignore[return-value]

    return decorate


def refusing(name: str, reason: str) -> Callable[..., Any]:
    """A function that raises NotImplementedError with the reason."""

    def refused(*args: Any, **keywords: Any) -> Any:
        raise NotImplementedError(f"{name}: {reason}; docs/compat.md lists what there is")

    refused.__name__ = refused.__qualname__ = name.rpartition(".")[2]
    refused.__dict__["refuses"] = reason
    refused.__doc__ = f"Raises NotImplementedError: {reason}."
    return refused


# -- Memory that is named by its address.


class Addresses:
    """Buffers that code knows by their addresses: kept until they are given back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buffers: dict[int, Buffer] = {}

    def put(self, buffer: Buffer) -> int:
        address = buffer.address
        if address:
            with self._lock:
                self._buffers[address] = buffer
        return address

    def take(self, address: int) -> Buffer | None:
        with self._lock:
            return self._buffers.pop(address, None)


# -- The figures of memory.


def mem_get_info(device: Device) -> tuple[int, int]:
    """Free and total bytes. A vendor that can't tell the free ones gives what anyplace hasn't reserved."""
    free, total = device.memory_info()
    known_total = total or 0
    if free is None:
        free = max(0, known_total - anyplace.memory.reserved(device))
    return free, known_total


def nested(figures: dict[str, int]) -> dict[str, Any]:
    """{"a.b": 1} as {"a": {"b": 1}}."""
    result: dict[str, Any] = {}
    for name, figure in figures.items():
        *folders, last = name.split(".")
        inner = result
        for each in folders:
            inner = inner.setdefault(each, {})
        inner[last] = figure
    return result


_fractions: dict[tuple[str, int], float] = {}


def set_fraction(fraction: float, device: Device) -> None:
    anyplace.memory.set_per_process_memory_fraction(device, fraction)
    _fractions[(device.backend, device.index)] = fraction


def fraction_of(device: Device) -> float:
    return _fractions.get((device.backend, device.index), 1.0)


class PoolScope:
    """A `with` statement in which this thread's buffers of one device come from a pool."""

    def __init__(self, pool: MemoryPool) -> None:
        self._pool = pool

    def __enter__(self) -> None:
        self._pool.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._pool.__exit__(*exception)


def capability_of(device: Device) -> tuple[int, int]:
    """(8, 6) of sm_86; (0, 0) for a device whose architecture has no such numbers."""
    return device.properties.compute_capability or (0, 0)
