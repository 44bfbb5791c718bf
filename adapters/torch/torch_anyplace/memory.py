# SPDX-License-Identifier: Apache-2.0
"""The caching allocator: figures with torch.cuda's names and meaning, by device. All figures are bytes or counts."""
from . import _C
from ._index import device_index
from .devices import _lazy_init


def _index(device):
    _lazy_init()
    return device_index(device)


def memory_stats(device=None):
    """All 122 figures, by name ("allocated_bytes.all.current"). Readable after the device was lost."""
    return dict(_C.memory_stats(_index(device)))


def memory_allocated(device=None):
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device=None):
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device=None):
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device=None):
    return memory_stats(device)["reserved_bytes.all.peak"]


def host_memory_stats(device=None):
    """Of pinned host memory, which the devices of one backend share."""
    return dict(_C.host_memory_stats(_index(device)))


def memory_summary(device=None, abbreviated=False):
    """A table for people."""
    return _C.memory_summary(_index(device), abbreviated)


def mem_get_info(device=None):
    """(free, total) as the device tells them, of all processes; None for what it can't tell."""
    return _C.memory_info(_index(device))


def empty_cache(device=None):
    """Gives what is cached and unused back: of the device, or of all of them."""
    _lazy_init()
    for index in range(_C.place_count()) if device is None else [device_index(device)]:
        _C.empty_cache(index)


def reset_peak_memory_stats(device=None):
    _C.reset_peak_memory_stats(_index(device))


def reset_accumulated_memory_stats(device=None):
    _C.reset_accumulated_memory_stats(_index(device))


def set_per_process_memory_fraction(fraction, device=None):
    """At most this part of the device's memory is taken from now on; 0 to 1."""
    _C.set_memory_fraction(_index(device), float(fraction))


def _record_memory_history(enabled="all", max_entries=100_000, device=None):
    """Starts keeping what happens to memory, or, with None, ends it."""
    _C.record_memory_history(_index(device), enabled is not None, max_entries)


def _dump_snapshot(filename="dump_snapshot.pickle", device=None):
    """Writes a file that pytorch.org/memory_viz opens."""
    _C.write_memory_snapshot(_index(device), str(filename))
