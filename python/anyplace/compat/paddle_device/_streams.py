# SPDX-License-Identifier: Apache-2.0
"""paddle.device's Stream and Event, and the calling thread's current stream."""

from __future__ import annotations

import ctypes
from typing import Any

import anyplace

from .. import _shared
from .._shared import StreamRef
from ._device import CUDAPlace, Place, _expected, _gpu

_HIGH, _NORMAL = -1, 0


class Event:
    """A mark in a stream's work, on the device that is current when it is made."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.device = CUDAPlace(_shared.current().index)
        self.event_base = anyplace.Event(
            _shared.current(), timing=enable_timing, blocking_sync=blocking, interprocess=interprocess
        )

    def record(self, stream: Stream | None = None) -> None:
        """Marks the work given to `stream`, or to the current stream, so far."""
        where = current_stream(self.device) if stream is None else stream
        self.event_base.record(where._ref.stream)

    def query(self) -> bool:
        return self.event_base.query()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this record to the other's."""
        return self.event_base.elapsed_time(end_event.event_base)

    def synchronize(self) -> None:
        self.event_base.synchronize()

    def __repr__(self) -> str:
        return f"<paddle.device.Event device={self.device} event={_shared.event_handle(self.event_base):#x}>"


class Stream:
    """A queue of work of its own, which never waits for the null stream."""

    _ref: StreamRef

    def __init__(self, device: Any = None, priority: int = 2, stream_base: Any = None) -> None:
        if stream_base is not None:
            if not isinstance(stream_base, Stream | anyplace.Stream):
                raise TypeError("stream_base should be CUDAStream, XPUStream or CustomDeviceStream")
            base = stream_base._ref.stream if isinstance(stream_base, Stream) else stream_base
            self._ref = _shared.ref_of(base)
        else:
            where = _gpu(device)
            high = _HIGH if priority in (-1, 1) else _NORMAL
            self._ref = _shared.ref_of(anyplace.Stream(where, priority=high))
        self.device: Place = CUDAPlace(self._ref.stream.device.index)

    @property
    def stream_base(self) -> anyplace.Stream:
        return self._ref.stream

    @property
    def cuda_stream(self) -> int:
        return self._ref.handle

    def wait_event(self, event: Event) -> None:
        self._ref.stream.wait_event(event.event_base)

    def wait_stream(self, stream: Stream) -> None:
        self._ref.stream.wait_stream(stream._ref.stream)

    def record_event(self, event: Event | None = None) -> Event:
        made = Event() if event is None else event
        made.record(self)
        return made

    def query(self) -> bool:
        return self._ref.stream.query()

    def synchronize(self) -> None:
        self._ref.stream.synchronize()

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._ref.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._ref.handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._ref is other._ref

    def __hash__(self) -> int:
        return hash((self._ref.handle, self.device))

    def __repr__(self) -> str:
        return f"<paddle.device.Stream device={self.device} stream={self._ref.handle:#x}>"


def _stream_of(ref: StreamRef, cls: type[Stream] = Stream) -> Stream:
    stream = cls.__new__(cls)
    stream._ref = ref
    stream.device = CUDAPlace(ref.stream.device.index)
    return stream


# The objects of streams that were current stay, so that asking twice gives one object, as Paddle's does.
_known: dict[tuple[int, int], Stream] = {}


def current_stream(device: Any = None) -> Stream:
    """The calling thread's current stream; the null stream until one is set."""
    where = _gpu(device)
    stream = anyplace.current_stream(where)
    key = (where.index, stream.id)
    found = _known.get(key)
    if found is None or found._ref.stream != stream:
        ref = _shared.ref_of(stream)
        found = _known[key] = _stream_of(ref)
    return found


def _checked(stream: Any) -> Stream:
    if not isinstance(stream, Stream):
        raise TypeError(f"stream type should be paddle.device.Stream, not {type(stream).__name__}")
    return stream


def set_stream(stream: Stream) -> Stream:
    """Makes the stream and its device current; returns the stream that was."""
    former = current_stream(_checked(stream).device)
    _known[(stream.device._index, stream._ref.stream.id)] = stream
    _expected.cpu = False
    anyplace.set_current_device(stream._ref.stream.device)
    anyplace.set_current_stream(stream._ref.stream)
    return former


class stream_guard:
    """with stream_guard(s): makes the stream and its device current, and restores both; None does nothing."""

    def __init__(self, stream: Stream | None = None) -> None:
        self.stream = None if stream is None else _checked(stream)
        self._former: tuple[Stream, anyplace.Device, bool] | None = None

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            device, cpu = _shared.current(), getattr(_expected, "cpu", False)
            self._former = (set_stream(self.stream), device, cpu)
        return self.stream

    def __exit__(self, *exception: object) -> None:
        if self._former is not None:
            former, device, cpu = self._former
            anyplace.set_current_stream(former._ref.stream)
            anyplace.set_current_device(device)
            _expected.cpu = cpu
            self._former = None


StreamContext = stream_guard


def stream(stream: Stream | None = None) -> stream_guard:
    return stream_guard(stream)


def synchronize(device: Any = None) -> None:
    """Waits for all work of the device."""
    _gpu(device).synchronize()


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """Another library's stream, by its handle; it has to live as long as this."""
    return _stream_of(_shared.ref_of_handle(data_ptr, _gpu(device)))


def is_current_stream_capturing() -> bool:
    return anyplace.current_stream(_shared.current()).is_capturing
