# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.stream: Stream, Event, and the calling thread's current stream of each device."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import anyplace

from .. import _shared
from .._shared import StreamRef
from ._errors import CUDARuntimeError, cupy_errors
from .device import Device, get_device_id
from .graph import Graph


class _ThreadStreams(threading.local):
    """The current stream of each device, and those that `with` statements put below it."""

    def __init__(self) -> None:
        self.current: dict[int, BaseStream] = {}
        self.stacks: dict[int, list[BaseStream]] = {}
        self.entered: list[int] = []  # the devices of the `with` statements, the innermost last


_thread = _ThreadStreams()


class Event:
    """A mark in a stream's work, of the device that is current when it is made. It measures time unless told not to."""

    @cupy_errors
    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        device = _shared.current()
        self.device_id = device.index
        self._event = anyplace.Event(device, timing=not disable_timing, blocking_sync=block, interprocess=interprocess)

    @property
    @cupy_errors
    def ptr(self) -> int:
        return _shared.event_handle(self._event)

    @property
    @cupy_errors
    def done(self) -> bool:
        return self._event.query()

    @cupy_errors
    def record(self, stream: BaseStream | None = None) -> None:
        """Marks the work given to `stream`, or to the current stream, so far."""
        where = (get_current_stream() if stream is None else stream)._stream
        if where.device != self._event.device:
            raise CUDARuntimeError(400, f"the event is of {self._event.device}, the stream of {where.device}")
        self._event.record(where)

    @cupy_errors
    def synchronize(self) -> None:
        self._event.synchronize()


@cupy_errors
def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between the two records."""
    return start_event._event.elapsed_time(end_event._event)


class BaseStream:
    """What streams of every origin do."""

    ptr: int
    device_id: int
    is_non_blocking: bool
    _ref: StreamRef | None = None

    @property
    def _stream(self) -> anyplace.Stream:
        if self._ref is not None:
            return self._ref.stream
        device = _shared.current()
        return device.per_thread_stream if self.ptr == _shared.PER_THREAD_HANDLE else device.default_stream

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseStream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __enter__(self) -> BaseStream:
        device = self._checked_device()
        _thread.stacks.setdefault(device, []).append(self)
        _thread.entered.append(device)
        self._make_current(device)
        return self

    def __exit__(self, *exception: object) -> None:
        if not _thread.entered:
            raise RuntimeError("the stream wasn't entered on this thread")
        device = _thread.entered.pop()
        stack = _thread.stacks[device]
        stack.pop()
        (stack[-1] if stack else Stream.null)._make_current(device)

    def use(self) -> BaseStream:
        """Makes the stream the current device's current one, on this thread."""
        self._make_current(self._checked_device())
        return self

    def _checked_device(self) -> int:
        device = get_device_id()
        if self.device_id not in (-1, device):
            raise RuntimeError(
                f"This stream was not created on the current device. Expected device {self.device_id}, "
                f"current device is {device}."
            )
        return device

    def _make_current(self, device: int) -> None:
        _thread.current[device] = self
        where = _shared.device_at(device)
        if self._ref is not None:
            anyplace.set_current_stream(self._ref.stream)
        elif self.ptr == _shared.PER_THREAD_HANDLE:
            anyplace.set_current_stream(where.per_thread_stream)
        else:
            anyplace.set_current_stream(where.default_stream)

    @property
    def done(self) -> bool:
        """Whether all work is done. In a capture it is False, and the capture is no longer valid."""
        try:
            return self._stream.query()
        except anyplace.Error as error:
            if error.code == "capturing":
                return False
            raise CUDARuntimeError(719, str(error)) from error

    @property
    @cupy_errors
    def priority(self) -> int:
        return self._stream.priority

    @cupy_errors
    def synchronize(self) -> None:
        self._stream.synchronize()

    @cupy_errors
    def add_callback(self, callback: Callable[[Any, int, Any], object], arg: Any) -> None:
        """Calls callback(stream, 0, arg) after the work so far, on a thread of the runtime's."""
        if self._stream.is_capturing:
            raise CUDARuntimeError(900, "add_callback can't be captured; launch_host_func can")
        self._stream.launch_host_func(callback, self, 0, arg)

    @cupy_errors
    def launch_host_func(self, callback: Callable[[Any], object], arg: Any) -> None:
        """Calls callback(arg) after the work so far; in a capture, at each launch."""
        self._stream.launch_host_func(callback, arg)

    @cupy_errors
    def record(self, event: Event | None = None) -> Event:
        made = Event() if event is None else event
        made.record(self)
        return made

    @cupy_errors
    def wait_event(self, event: Event) -> None:
        self._stream.wait_event(event._event)

    @cupy_errors
    def begin_capture(self, mode: int | None = None) -> None:
        """`mode`: 0 global, 1 thread_local, 2 relaxed, which is the default."""
        if self.ptr in (0, _shared.LEGACY_HANDLE):
            raise RuntimeError("cannot capture on the default (legacy) stream")
        if mode not in (None, 0, 1, 2):
            raise ValueError(f"mode: {mode} is no capture mode; 0, 1 and 2 are")
        self._stream.begin_capture(("global", "thread_local", "relaxed")[2 if mode is None else mode])

    @cupy_errors
    def end_capture(self) -> Graph:
        if self.ptr in (0, _shared.LEGACY_HANDLE):
            raise RuntimeError("cannot capture on the default (legacy) stream")
        if self._stream.capture_status == "none":
            raise CUDARuntimeError(401, "the stream isn't captured")
        return Graph._of(self._stream.end_capture())

    @cupy_errors
    def is_capturing(self) -> bool:
        return self._stream.is_capturing

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"


class Stream(BaseStream):
    """A queue of work, which waits for the null stream and is waited for by it, unless non_blocking is set."""

    null: Stream
    ptds: Stream

    @cupy_errors
    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self.is_non_blocking = bool(non_blocking)
        if null or ptds:
            self.ptr = _shared.PER_THREAD_HANDLE if ptds and not null else 0
            self.device_id = -1
            return
        device = _shared.current()
        self.device_id = device.index
        stream = anyplace.Stream(device, priority=priority or 0, blocking=not non_blocking)
        self._ref = _shared.ref_of(stream)
        self.ptr = self._ref.handle

    @classmethod
    @cupy_errors
    def from_external(cls, obj: Any) -> Stream:
        """Another library's stream, by __cuda_stream__; the object is kept."""
        handle = _shared.handle_of_protocol(obj)
        stream = cls.__new__(cls)
        stream._borrow(handle)
        stream._foreign_stream_ref = obj
        return stream

    _foreign_stream_ref: Any = None

    def _borrow(self, handle: int) -> None:
        self.ptr = handle
        self.device_id = -1
        self.is_non_blocking = False
        if handle > _shared.PER_THREAD_HANDLE:
            self._ref = _shared.ref_of_handle(handle, _shared.current())


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


class ExternalStream(BaseStream):
    """A stream by its handle, which has to live as long as this."""

    @cupy_errors
    def __init__(self, ptr: int, device_id: int = -1) -> None:
        warnings.warn(
            "ExternalStream is deprecated; use Stream.from_external with an object that has __cuda_stream__",
            DeprecationWarning,
            stacklevel=2,
        )
        self.ptr = ptr
        self.device_id = device_id
        self.is_non_blocking = False
        if ptr > _shared.PER_THREAD_HANDLE:
            where = _shared.current() if device_id < 0 else Device(device_id)._device
            self._ref = _shared.ref_of_handle(ptr, where)


def get_current_stream(device_id: int = -1) -> BaseStream:
    """This thread's current stream of a device; of the current one without a number."""
    device = get_device_id() if device_id < 0 else device_id
    found = _thread.current.get(device)
    if found is not None:
        return found
    return Stream.ptds if is_ptds_enabled() else Stream.null


def is_ptds_enabled() -> bool:
    return os.environ.get("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM", "0") == "1"
