# SPDX-License-Identifier: Apache-2.0
"""mindspore.hal's and mindspore.runtime's names over anyplace. The current stream is the process's, as MindSpore's.

The target "GPU" is the backend's devices, whatever backend there is; there is no "Ascend".
"""

from __future__ import annotations

import re
import threading
from typing import Any

import anyplace

from . import _shared
from ._shared import PoolScope as _PoolScope
from ._shared import StreamRef

_current: dict[int, Stream] = {}
_lock = threading.Lock()
_chosen: tuple[str, int] | None = None
_memory_set = False
_launch_blocking = False


def _device() -> anyplace.Device:
    """MindSpore has one device for a process."""
    return _shared.device_at(_chosen[1] if _chosen is not None else _shared.current().index)


class Event:
    """A mark in a stream's work; made at its first record."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        if not isinstance(enable_timing, bool):
            raise TypeError(f"The argument 'enable_timing' must be bool, but got {type(enable_timing)}.")
        if not isinstance(blocking, bool):
            raise TypeError(f"The argument 'blocking' must be bool, but got {type(blocking)}.")
        self._timing = enable_timing
        self._blocking = blocking
        self._event: anyplace.Event | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Marks the work given to `stream`, or to the current stream, so far."""
        where = _checked_stream(stream)
        if self._event is None:
            self._event = anyplace.Event(where.device, timing=self._timing, blocking_sync=self._blocking)
        self._event.record(where)

    def wait(self, stream: Stream | None = None) -> None:
        """Makes later work of `stream`, or of the current stream, wait for the record. Doesn't block."""
        where = _checked_stream(stream)
        if self._event is not None:
            where.wait_event(self._event)

    def synchronize(self) -> None:
        if self._event is not None:
            self._event.synchronize()

    def query(self) -> bool:
        return self._event is None or self._event.query()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this record to the other's."""
        if not isinstance(end_event, Event):
            raise TypeError(f"The argument 'end_event' must be Event, but got {type(end_event)}.")
        if self._event is None or end_event._event is None:
            raise RuntimeError("Both events must be recorded before the time between them is asked for.")
        return self._event.elapsed_time(end_event._event)

    def __repr__(self) -> str:
        return f"<mindspore.Event timing={self._timing} recorded={self._event is not None}>"


class Stream:
    """A queue of work of its own."""

    _ref: StreamRef

    def __init__(self, priority: int = 0, **kwargs: Any) -> None:
        if isinstance(priority, bool) or not isinstance(priority, int):
            raise TypeError(f"The argument 'priority' must be int, but got {type(priority)}.")
        if "stream" in kwargs:
            self._ref = kwargs["stream"]._ref
        elif "stream_id" in kwargs:
            self._ref = _shared.ref_of_handle(int(kwargs["stream_id"]), _device())
        else:
            self._ref = _shared.ref_of(anyplace.Stream(_device(), priority=priority))

    @classmethod
    def _of(cls, ref: StreamRef) -> Stream:
        stream = cls.__new__(cls)
        stream._ref = ref
        return stream

    @property
    def id(self) -> int:
        return self._ref.handle

    def stream_id(self) -> int:
        return self._ref.handle

    @property
    def device_id(self) -> int:
        return self._ref.stream.device.index

    def record_event(self, event: Event | None = None) -> Event:
        if event is not None and not isinstance(event, Event):
            raise TypeError(f"The argument 'event' must be Event, but got {type(event)}.")
        made = Event() if event is None else event
        made.record(self)
        return made

    def wait_event(self, event: Event) -> None:
        if not isinstance(event, Event):
            raise TypeError(f"The argument 'event' must be Event, but got {type(event)}.")
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        if not isinstance(stream, Stream):
            raise TypeError(f"The argument 'stream' must be Stream, but got {type(stream)}.")
        self._ref.stream.wait_stream(stream._ref.stream)

    def synchronize(self) -> None:
        self._ref.stream.synchronize()

    def query(self) -> bool:
        return self._ref.stream.query()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            raise TypeError(f"A Stream is compared with a Stream, not with a {type(other).__name__}.")
        return self._ref.handle == other._ref.handle and self.device_id == other.device_id

    def __hash__(self) -> int:
        return hash((self._ref.handle, self.device_id))

    def __repr__(self) -> str:
        return f"Stream(device_name={_shared.backend()}, device_id:{self.device_id}, stream id:{self._ref.handle})"


def _checked_stream(stream: Stream | None) -> anyplace.Stream:
    if stream is None:
        return current_stream()._ref.stream
    if not isinstance(stream, Stream):
        raise TypeError(f"The argument 'stream' must be Stream, but got {type(stream)}.")
    return stream._ref.stream


def current_stream() -> Stream:
    """The process's current stream; the null stream until one is set."""
    with _lock:
        found = _current.get(_device().index)
    return default_stream() if found is None else found


def default_stream() -> Stream:
    return Stream._of(_shared.ref_of(_device().default_stream))


def communication_stream() -> Stream:
    """The null stream: there are no collectives here that have one of their own."""
    return default_stream()


def set_cur_stream(stream: Stream | None) -> None:
    """Makes the stream current; None does nothing."""
    if stream is None:
        return
    if not isinstance(stream, Stream):
        raise TypeError(f"The argument 'stream' must be Stream, but got {type(stream)}.")
    with _lock:
        _current[stream.device_id] = stream
    anyplace.set_current_stream(stream._ref.stream)


class StreamCtx:
    """with StreamCtx(s): makes the stream current and restores the former one; None does nothing."""

    def __init__(self, ctx_stream: Stream | None) -> None:
        if ctx_stream is not None and not isinstance(ctx_stream, Stream):
            raise TypeError(f"The argument 'ctx_stream' must be Stream, but got {type(ctx_stream)}.")
        self.stream = ctx_stream
        self._former: Stream | None = None

    def __enter__(self) -> None:
        if self.stream is not None:
            self._former = current_stream()
            set_cur_stream(self.stream)

    def __exit__(self, *exception: object) -> None:
        set_cur_stream(self._former)
        self._former = None


def synchronize() -> None:
    """Waits for all streams of the device."""
    _device().synchronize()


# -- Memory.


def _of_target(device_target: str | None) -> anyplace.Device | None:
    """The device; None for the CPU, which has no figures."""
    if device_target == "CPU":
        return None
    if device_target not in (None, "GPU"):
        raise ValueError(f"device_target: {device_target!r} isn't there; CPU and GPU are")
    return _device()


def memory_stats(device_target: str | None = None) -> dict[str, Any]:
    """MindSpore's keys; {} for the CPU."""
    device = _of_target(device_target)
    if device is None:
        return {}
    figures = anyplace.memory.stats(device)
    reserved, allocated = figures["reserved_bytes.all.current"], figures["allocated_bytes.all.current"]
    active = figures["active_bytes.all.current"]
    return {
        "total_reserved_memory": reserved,
        "total_allocated_memory": allocated,
        "total_idle_memory": reserved - active,
        "total_eager_free_memory": active - allocated,
        "max_reserved_memory": figures["reserved_bytes.all.peak"],
        "max_allocated_memory": figures["allocated_bytes.all.peak"],
        "common_mem_pool_stats": {"block_unit_size": 0, "block_counts": 0, "blocks_info": {}},
        "persistent_mem_pool_stats": {"block_unit_size": 0, "block_counts": 0, "blocks_info": {}},
    }


def memory_reserved(device_target: str | None = None) -> int:
    return int(memory_stats(device_target).get("total_reserved_memory", 0))


def max_memory_reserved(device_target: str | None = None) -> int:
    return int(memory_stats(device_target).get("max_reserved_memory", 0))


def memory_allocated(device_target: str | None = None) -> int:
    return int(memory_stats(device_target).get("total_allocated_memory", 0))


def max_memory_allocated(device_target: str | None = None) -> int:
    return int(memory_stats(device_target).get("max_allocated_memory", 0))


def empty_cache() -> None:
    anyplace.memory.empty_cache(_device())


def reset_peak_memory_stats(device_target: str | None = None) -> None:
    device = _of_target(device_target)
    if device is not None:
        anyplace.memory.reset_peak_stats(device)


reset_max_memory_reserved = reset_peak_memory_stats
reset_max_memory_allocated = reset_peak_memory_stats


def memory_summary(device_target: str | None = None) -> str:
    """The figures as a table."""
    device = _of_target(device_target)
    return "" if device is None else anyplace.memory.summary(device)


def _bytes_of(text: str, name: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)GB", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{name}: it is a number of gigabytes such as '2GB', not {text!r}")
    return int(float(found.group(1)) * 2**30)


def set_memory(
    init_size: str = "2GB",
    increase_size: str = "2GB",
    max_size: str = "1024GB",
    optimize_level: str = "O0",
    huge_page_reserve_size: str = "0GB",
) -> None:
    """Limits what is reserved to max_size, once in a process. The other figures are checked and have no effect."""
    global _memory_set
    for name, size in (("init_size", init_size), ("increase_size", increase_size)):
        _bytes_of(size, name)
    _bytes_of(huge_page_reserve_size, "huge_page_reserve_size")
    limit = _bytes_of(max_size, "max_size")
    if limit == 0:
        raise ValueError("max_size: it is more than 0GB")
    if optimize_level not in ("O0", "O1"):
        raise ValueError(f"optimize_level: {optimize_level!r} is none; O0 and O1 are")
    if _memory_set:
        raise RuntimeError("The 'set_memory' can not be set repeatedly.")
    _memory_set = True
    device = _device()
    total = _shared.mem_get_info(device)[1]
    if limit < total:
        _shared.set_fraction(limit / total, device)


class MemPool:
    """Memory apart from the common pool."""

    def __init__(self, allocator: Any = None) -> None:
        if allocator is not None:
            raise NotImplementedError(
                "MemPool: a pool has the library's own allocator; docs/compat.md lists what there is"
            )
        self._pool = anyplace.MemoryPool(_device())


def use_mem_pool(pool: MemPool) -> _PoolScope:
    """In the `with` statement this thread's memory comes from the pool."""
    if not isinstance(pool, MemPool):
        raise TypeError(f"The argument 'pool' must be MemPool, but got {type(pool)}.")
    return _PoolScope(pool._pool)


PluggableAllocator = _shared.refusing(
    "PluggableAllocator",
    "MindSpore's allocators are of its own types; anyplace.Allocator.from_functions takes C functions",
)
memory_replay = _shared.refusing("memory_replay", "MindSpore's files of allocations are its own")

_NO_LIMITS = "devices aren't divided into groups of cores here"
set_device_limit = _shared.refusing("set_device_limit", _NO_LIMITS)
get_device_limit = _shared.refusing("get_device_limit", _NO_LIMITS)
set_stream_limit = _shared.refusing("set_stream_limit", _NO_LIMITS)
get_stream_limit = _shared.refusing("get_stream_limit", _NO_LIMITS)
reset_stream_limit = _shared.refusing("reset_stream_limit", _NO_LIMITS)
StreamLimitCtx = _shared.refusing("StreamLimitCtx", _NO_LIMITS)
set_kernel_launch_capture = _shared.refusing("set_kernel_launch_capture", "MindSpore's own launches are captured by it")


def launch_blocking() -> None:
    """Kept for programs that call it: nothing here launches without a stream that can be waited for."""
    global _launch_blocking
    _launch_blocking = True


# -- Devices.


def _is_target(device_target: str | None) -> str:
    if device_target is None:
        return "GPU"
    if device_target not in ("CPU", "GPU", "Ascend"):
        raise ValueError(f"device_target: {device_target!r} is none; CPU, GPU and Ascend are")
    return device_target


def is_initialized(device_target: str) -> bool:
    target = _is_target(device_target)
    return target == "CPU" or (target == "GPU" and _shared.initialised())


def is_available(device_target: str) -> bool:
    target = _is_target(device_target)
    return target == "CPU" or (target == "GPU" and device_count("GPU") > 0)


def device_count(device_target: str | None = None) -> int:
    target = _is_target(device_target)
    if target != "GPU":
        return 1 if target == "CPU" else 0
    return _shared.count()


def _checked_id(device_id: int, device_target: str | None) -> anyplace.Device:
    if isinstance(device_id, bool) or not isinstance(device_id, int):
        raise TypeError(f"The argument 'device_id' must be int, but got {type(device_id)}.")
    if _is_target(device_target) != "GPU":
        raise ValueError(f"device_target: {device_target} has nothing to tell here; GPU has")
    if not 0 <= device_id < _shared.count():
        raise ValueError(f"device_id: {device_id} isn't there; there are {_shared.count()} devices")
    return _shared.device_at(device_id)


class _Properties:
    """MindSpore's facts of a GPU."""

    def __init__(self, device: anyplace.Device) -> None:
        facts = device.properties
        self.name = facts.name
        self.major, self.minor = _shared.capability_of(device)
        self.is_multi_gpu_board = False
        self.is_integrated = False
        self.multi_processor_count = facts.multiprocessors or facts.compute_units
        self.total_memory = facts.total_memory or 0
        self.warp_size = max(facts.sub_group_sizes, default=1)


def get_device_capability(device_id: int, device_target: str | None = None) -> tuple[int, int]:
    return _shared.capability_of(_checked_id(device_id, device_target))


def get_device_properties(device_id: int, device_target: str | None = None) -> _Properties:
    return _Properties(_checked_id(device_id, device_target))


def get_device_name(device_id: int, device_target: str | None = None) -> str:
    return _checked_id(device_id, device_target).properties.name


def get_arch_list(device_target: str | None = None) -> list[str]:
    """Empty: images are made for the device that is there."""
    _is_target(device_target)
    return []


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Chooses the process's device, once and before its first use."""
    global _chosen
    if _is_target(device_target) != "GPU":
        raise ValueError(f"device_target: {device_target!r} isn't there; GPU is the backend {_shared.backend()}")
    index = 0 if device_id is None else device_id
    device = _checked_id(index, device_target)
    if _chosen not in (None, ("GPU", index)):
        raise RuntimeError(f"The device is {_chosen} already; it can be set once in a process.")
    _chosen = ("GPU", index)
    anyplace.set_current_device(device)


def get_current_device() -> tuple[str, int]:
    return "GPU", _device().index
