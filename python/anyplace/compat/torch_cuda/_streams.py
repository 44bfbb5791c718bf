# SPDX-License-Identifier: Apache-2.0
"""Stream, Event, and the calling thread's current stream."""

from __future__ import annotations

import ctypes
from typing import Any

import anyplace

from .. import _shared
from .._shared import StreamRef
from ._device import _DeviceIndex, _device_of
from ._errors import torch_errors

_DEVICE_TYPE = 1  # torch's number for cuda


class _DeviceName:
    """What torch.device("cuda", 1) is, as far as streams and events show it."""

    __slots__ = ("index", "type")

    def __init__(self, index: int) -> None:
        self.type = "cuda"
        self.index = index

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}', index={self.index})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        return getattr(other, "type", None) == self.type and getattr(other, "index", None) == self.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))


class Event:
    """A mark in a stream's work; made at its first record, on that stream's device."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        self._timing = bool(enable_timing)
        self._blocking = bool(blocking)
        self._interprocess = bool(interprocess)
        self._external = bool(external)
        self._event: anyplace.Event | None = None
        self._recorded = False

    def _made_on(self, device: anyplace.Device) -> anyplace.Event:
        if self._event is None:
            self._event = anyplace.Event(
                device, timing=self._timing, blocking_sync=self._blocking, interprocess=self._interprocess
            )
        return self._event

    @torch_errors
    def record(self, stream: Stream | None = None) -> None:
        """Marks the work given to `stream`, or to the current stream, so far."""
        where = (current_stream() if stream is None else stream)._ref.stream
        event = self._made_on(where.device)
        if event.device != where.device:
            raise RuntimeError(
                f"Event device {event.device.index} does not match recording stream's device {where.device.index}."
            )
        if self._external and where.is_capturing:
            where.record_external_event(event)
        else:
            event.record(where)
        self._recorded = True

    @torch_errors
    def wait(self, stream: Stream | None = None) -> None:
        """Makes later work of `stream`, or of the current stream, wait for the record. Doesn't block."""
        if self._event is None:
            return
        where = (current_stream() if stream is None else stream)._ref.stream
        if self._external and where.is_capturing:
            where.wait_external_event(self._event)
        else:
            where.wait_event(self._event)

    @torch_errors
    def query(self) -> bool:
        return self._event is None or self._event.query()

    @torch_errors
    def synchronize(self) -> None:
        if self._event is not None:
            self._event.synchronize()

    @torch_errors
    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this record to the other's."""
        if not isinstance(end_event, Event):
            raise TypeError("end_event: it is an Event")
        if not (self._timing and end_event._timing):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._event is None or end_event._event is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return self._event.elapsed_time(end_event._event)

    @torch_errors
    def ipc_handle(self) -> bytes:
        """Bytes by which another process opens the event."""
        if not self._interprocess:
            raise RuntimeError("the event was made without interprocess=True, and can't be shared")
        return anyplace.ipc.export_event(self._made_on(_shared.current()))

    @classmethod
    @torch_errors
    def from_ipc_handle(cls, device: _DeviceIndex, handle: bytes) -> Event:
        event = cls(interprocess=True)
        event._event = anyplace.ipc.import_event(_device_of(device), handle)
        return event

    @property
    def device(self) -> _DeviceName | None:
        return None if self._event is None else _DeviceName(self._event.device.index)

    @property
    def cuda_event(self) -> int:
        return 0 if self._event is None else _shared.event_handle(self._event)

    event_id = cuda_event

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_event)

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self._event else "<torch.cuda.Event uninitialized>"


class Stream:
    """A queue of work. `with stream:` makes its device and itself current, and restores both."""

    _ref: StreamRef

    @torch_errors
    def __init__(self, device: _DeviceIndex = None, priority: int = 0, **keywords: Any) -> None:
        self._entered: list[StreamContext] = []
        if "stream_ptr" in keywords:
            self._ref = _shared.ref_of_handle(int(keywords["stream_ptr"]), _device_of(device))
            return
        if "stream_id" in keywords:
            where = _shared.device_at(int(keywords.get("device_index", _shared.current().index)))
            self._ref = _shared.ref_of_handle(int(keywords["stream_id"]), where)
            return
        if keywords:
            raise TypeError(
                f"Stream has no argument {next(iter(keywords))}; stream_id, device_index, device_type, stream_ptr are"
            )
        self._ref = _shared.ref_of(anyplace.Stream(_device_of(device), priority=priority))

    @classmethod
    def _of(cls, ref: StreamRef) -> Stream:
        stream = Stream.__new__(cls)
        stream._ref = ref
        stream._entered = []
        return stream

    @property
    def device(self) -> _DeviceName:
        return _DeviceName(self._ref.stream.device.index)

    @property
    def device_index(self) -> int:
        return self._ref.stream.device.index

    @property
    def device_type(self) -> int:
        return _DEVICE_TYPE

    @property
    def stream_id(self) -> int:
        return self._ref.handle

    @property
    def cuda_stream(self) -> int:
        return self._ref.handle

    native_handle = cuda_stream

    @property
    def priority(self) -> int:
        return self._ref.stream.priority

    @staticmethod
    @torch_errors
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority: (0, -5)."""
        least, greatest = _device_of(None).priority_range
        return least, greatest

    @torch_errors
    def wait_event(self, event: Event) -> None:
        event.wait(self)

    @torch_errors
    def wait_stream(self, stream: Stream) -> None:
        self._ref.stream.wait_stream(stream._ref.stream)

    def record_event(self, event: Event | None = None) -> Event:
        made = Event() if event is None else event
        made.record(self)
        return made

    @torch_errors
    def query(self) -> bool:
        return self._ref.stream.query()

    @torch_errors
    def synchronize(self) -> None:
        self._ref.stream.synchronize()

    def is_capturing(self) -> bool:
        return self._ref.stream.is_capturing

    def __enter__(self) -> Stream:
        context = StreamContext(self)
        context.__enter__()
        self._entered.append(context)
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._entered:
            raise RuntimeError("the stream wasn't entered")
        self._entered.pop().__exit__(*exception)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return False
        return self._ref.handle == other._ref.handle and self.device_index == other.device_index

    def __hash__(self) -> int:
        return hash((self._ref.handle, self.device_index))

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._ref.handle

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._ref.handle)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self._ref.handle:#x}>"


class ExternalStream(Stream):
    """Another library's stream, which has to live as long as this."""

    def __init__(self, stream_ptr: int, device: _DeviceIndex = None, **keywords: Any) -> None:
        super().__init__(device, stream_ptr=stream_ptr, **keywords)


def get_stream_from_external(data_ptr: int, device: _DeviceIndex = None) -> Stream:
    """The stream of a handle."""
    return Stream(device, stream_ptr=data_ptr)


class StreamContext:
    """Makes a stream and its device current, and restores both; None leaves everything as it is."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._device: anyplace.Device | None = None
        self._former: anyplace.Stream | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        target = self.stream._ref.stream
        self._device = _shared.current()
        self._former = anyplace.current_stream(target.device)
        anyplace.set_current_device(target.device)
        anyplace.set_current_stream(target)

    def __exit__(self, *exception: object) -> None:
        if self._former is not None:
            anyplace.set_current_stream(self._former)
        if self._device is not None:
            anyplace.set_current_device(self._device)
        self._device = self._former = None


def stream(stream: Stream | None) -> StreamContext:
    """with stream(s): makes s and its device current."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Makes the stream and its device current; None leaves everything as it is."""
    if stream is None:
        return
    anyplace.set_current_device(stream._ref.stream.device)
    anyplace.set_current_stream(stream._ref.stream)


@torch_errors
def current_stream(device: _DeviceIndex = None) -> Stream:
    """The calling thread's current stream on the device."""
    return Stream._of(_shared.ref_of(anyplace.current_stream(_device_of(device))))


@torch_errors
def default_stream(device: _DeviceIndex = None) -> Stream:
    """The device's null stream."""
    return Stream._of(_shared.ref_of(_device_of(device).default_stream))


def is_current_stream_capturing() -> bool:
    return _shared.initialised() and current_stream().is_capturing()
