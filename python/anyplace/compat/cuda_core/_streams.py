# SPDX-License-Identifier: Apache-2.0
"""Stream, Event, and their options."""

from __future__ import annotations

import dataclasses
from typing import Any

import anyplace

from .. import _shared
from .._shared import StreamRef
from ._errors import core_errors


@dataclasses.dataclass
class StreamOptions:
    nonblocking: bool = True
    priority: int | None = None


@dataclasses.dataclass
class EventOptions:
    timing_enabled: bool = False
    blocking_sync: bool = False
    ipc_enabled: bool = False


def _options(options: Any, cls: Any) -> Any:
    """Options as an object, from one, from a dict, or None for the defaults."""
    if options is None:
        return cls()
    if isinstance(options, dict):
        return cls(**options)
    if not isinstance(options, cls):
        raise TypeError(f"options: they are a {cls.__name__} or a dict, not a {type(options).__name__}")
    return options


class Context:
    """A device's context, by its handle."""

    def __init__(self, device: anyplace.Device) -> None:
        self._device = device

    @property
    def handle(self) -> int:
        return self._device.native_context() if _shared.is_cuda_like() else self._device.index + 1

    @property
    def device(self) -> Any:
        from ._device import Device

        return Device(self._device.index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self._device == other._device

    def __hash__(self) -> int:
        return hash(self._device)


class Event:
    """A mark in a stream's work, made by Stream.record or Device.create_event."""

    _event: anyplace.Event
    _options: EventOptions
    _recorded: bool
    _closed: bool

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise RuntimeError("Event objects cannot be instantiated directly. Please use Stream APIs (record).")

    @classmethod
    @core_errors
    def _make(cls, device: anyplace.Device, options: Any) -> Event:
        event = cls.__new__(cls)
        event._options = _options(options, EventOptions)
        if event._options.ipc_enabled and event._options.timing_enabled:
            raise TypeError("IPC-enabled events cannot be timed: timing_enabled and ipc_enabled exclude each other")
        event._event = anyplace.Event(
            device,
            timing=event._options.timing_enabled,
            blocking_sync=event._options.blocking_sync,
            interprocess=event._options.ipc_enabled,
        )
        event._recorded = event._closed = False
        return event

    @classmethod
    @core_errors
    def from_ipc_descriptor(cls, ipc_descriptor: bytes) -> Event:
        event = cls.__new__(cls)
        event._options = EventOptions(ipc_enabled=True)
        event._event = anyplace.ipc.import_event(_shared.current(), ipc_descriptor)
        event._recorded, event._closed = True, False
        return event

    @property
    @core_errors
    def ipc_descriptor(self) -> bytes:
        """Bytes by which another process opens the event."""
        if not self._options.ipc_enabled:
            raise RuntimeError("Event is not IPC-enabled: make it with EventOptions(ipc_enabled=True)")
        return anyplace.ipc.export_event(self._event)

    @core_errors
    def sync(self) -> None:
        self._event.synchronize()

    @property
    @core_errors
    def is_done(self) -> bool:
        return self._event.query()

    def __sub__(self, other: Event) -> float:
        """end - start: milliseconds."""
        if not isinstance(other, Event):
            return NotImplemented
        if not (self.is_timing_enabled and other.is_timing_enabled):
            raise RuntimeError(
                "Both Events must be created with timing enabled in order to subtract them; "
                "use EventOptions(timing_enabled=True)."
            )
        try:
            return other._event.elapsed_time(self._event)
        except anyplace.Error as error:
            if error.code == "not_recorded":
                raise RuntimeError(
                    "Both Events must be recorded before they can be subtracted; "
                    "use Stream.record() to record both events to a stream."
                ) from error
            if error.code == "not_ready":
                raise RuntimeError("One or both events have not completed.") from error
            raise

    def close(self) -> None:
        if not self._closed:
            self._event.close()
            self._closed = True

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def handle(self) -> int:
        return 0 if self._closed else _shared.event_handle(self._event)

    @property
    def device(self) -> Any:
        from ._device import Device

        return Device(self._event.device.index)

    @property
    def context(self) -> Context:
        return Context(self._event.device)

    @property
    def is_timing_enabled(self) -> bool:
        return self._options.timing_enabled

    @property
    def is_ipc_enabled(self) -> bool:
        return self._options.ipc_enabled

    @property
    def is_blocking_sync(self) -> bool:
        return self._options.blocking_sync

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._event == other._event

    def __hash__(self) -> int:
        return hash(self._event)

    def __repr__(self) -> str:
        return f"<Event handle={self.handle:#x}>"


class Stream:
    """A queue of work, made by Device.create_stream."""

    _ref: StreamRef | None
    _handle: int
    _nonblocking: bool
    _closed: bool

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise RuntimeError(
            "Stream objects cannot be instantiated directly. Please use Device APIs (create_stream) or other "
            "Stream APIs (from_handle)."
        )

    @classmethod
    def _of(cls, ref: StreamRef | None, handle: int, nonblocking: bool = False) -> Any:
        stream = cls.__new__(cls)
        stream._ref, stream._handle, stream._nonblocking, stream._closed = ref, handle, nonblocking, False
        return stream

    @classmethod
    @core_errors
    def _init(cls, obj: Any = None, options: Any = None, device_id: int | None = None) -> Any:
        device = _shared.current() if device_id is None else _shared.device_at(device_id)
        if obj is not None:
            if options is not None:
                raise ValueError("obj and options cannot be both specified")
            handle = _shared.handle_of_protocol(obj)
            ref = _shared.ref_of_handle(handle, device)
            return cls._of(StreamRef(ref.stream, 0, (ref, obj)), handle)
        chosen = _options(options, StreamOptions)
        least, greatest = device.priority_range
        priority = 0 if chosen.priority is None else chosen.priority
        # CUDA's least priority is 0; a device may have lower ones, which are refused as there.
        if not greatest <= priority <= min(least, 0):
            raise ValueError(f"{priority=} is out of range {[min(least, 0), greatest]}")
        ref = _shared.ref_of(anyplace.Stream(device, priority=priority, blocking=not chosen.nonblocking))
        return cls._of(ref, ref.handle, chosen.nonblocking)

    @classmethod
    def _legacy_default(cls) -> Any:
        return cls._of(None, _shared.LEGACY_HANDLE)

    @classmethod
    def _per_thread_default(cls) -> Any:
        return cls._of(None, _shared.PER_THREAD_HANDLE)

    @classmethod
    def from_handle(cls, handle: int) -> Any:
        """Another library's stream, which has to live as long as this."""
        handle = int(handle)
        if handle <= _shared.PER_THREAD_HANDLE:
            return cls._of(None, handle)
        return cls._of(_shared.ref_of_handle(handle, _shared.current()), handle)

    @property
    def _stream(self) -> anyplace.Stream:
        if self._closed:
            raise RuntimeError("the stream is closed")
        if self._ref is not None:
            return self._ref.stream
        device = _shared.current()
        return device.per_thread_stream if self._handle == _shared.PER_THREAD_HANDLE else device.default_stream

    @core_errors
    def sync(self) -> None:
        self._stream.synchronize()

    @core_errors
    def record(self, event: Event | None = None, options: Any = None) -> Event:
        """Records `event`, or a new one."""
        stream = self._stream
        made = Event._make(stream.device, options) if event is None else event
        made._event.record(stream)
        made._recorded = True
        return made

    @core_errors
    def wait(self, event_or_stream: Any) -> None:
        """Later work here waits for an event, or for all work of a stream so far. Doesn't block."""
        if isinstance(event_or_stream, Event):
            self._stream.wait_event(event_or_stream._event)
            return
        if isinstance(event_or_stream, Stream):
            other = event_or_stream._stream
        else:
            try:
                handle = _shared.handle_of_protocol(event_or_stream)
            except TypeError as error:
                raise ValueError(
                    "only an Event, Stream, or object supporting __cuda_stream__ can be waited, got "
                    f"{type(event_or_stream)}"
                ) from error
            other = _shared.ref_of_handle(handle, self._stream.device).stream
        self._stream.wait_stream(other)

    def close(self) -> None:
        """Gives the stream up; its work goes on. The default streams can't be closed."""
        if self._ref is not None:
            self._ref = None
            self._closed = True

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def handle(self) -> int:
        return 0 if self._closed else self._handle

    @property
    def is_nonblocking(self) -> bool:
        return self._nonblocking

    @property
    @core_errors
    def priority(self) -> int:
        return self._stream.priority

    @property
    def device(self) -> Any:
        from ._device import Device

        return Device(self._stream.device.index)

    @property
    def context(self) -> Context:
        return Context(self._stream.device)

    @property
    def resources(self) -> Any:
        raise NotImplementedError(
            "Stream.resources: devices aren't divided into groups of processors here; "
            "docs/compat.md lists what there is"
        )

    def create_graph_builder(self) -> Any:
        """A builder that captures this stream."""
        from ._graphs import GraphBuilder

        return GraphBuilder._of(self)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._handle == other._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    def __repr__(self) -> str:
        return f"<Stream handle={self.handle:#x}>"


LEGACY_DEFAULT_STREAM: Stream = Stream._legacy_default()
PER_THREAD_DEFAULT_STREAM: Stream = Stream._per_thread_default()


def stream_of(stream: Any) -> anyplace.Stream:
    """The stream of a Stream, a GraphBuilder, or an object with __cuda_stream__."""
    if isinstance(stream, Stream):
        return stream._stream
    inner = getattr(stream, "stream", None)
    if isinstance(inner, Stream):
        return inner._stream
    return _shared.ref_of_handle(_shared.handle_of_protocol(stream), _shared.current()).stream
