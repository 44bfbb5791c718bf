# SPDX-License-Identifier: Apache-2.0
"""torch.anyplace, with the calls that torch.cuda has for what anyplace has."""
from . import devices, memory, random
from .devices import (_is_in_bad_fork, _lazy_init, current_device, device, device_count, device_of, get_amp_supported_dtype,
                      get_device_name, get_device_properties, init, is_available, is_bf16_supported, is_initialized, place,
                      places, set_device, synchronize)
from .memory import (_dump_snapshot, _record_memory_history, empty_cache, host_memory_stats, max_memory_allocated,
                     max_memory_reserved, mem_get_info, memory_allocated, memory_reserved, memory_stats, memory_summary,
                     reset_accumulated_memory_stats, reset_peak_memory_stats, set_per_process_memory_fraction)
from .random import (get_rng_state, get_rng_state_all, initial_seed, manual_seed, manual_seed_all, seed, seed_all,
                     set_rng_state, set_rng_state_all)
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream


def __getattr__(name):
    if name == "_initialized":  # torch's checkpoints ask it, and save the states of generators only then
        return devices.is_initialized()
    raise AttributeError(f"torch.anyplace has no attribute {name!r}")


__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "default_stream", "device", "device_count",
    "device_of", "empty_cache", "get_amp_supported_dtype", "get_device_name", "get_device_properties", "get_rng_state",
    "get_rng_state_all", "host_memory_stats", "init", "initial_seed", "is_available", "is_bf16_supported", "is_initialized",
    "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory",
    "memory_allocated", "memory_reserved", "memory_stats", "memory_summary", "place", "places", "random",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "seed", "seed_all", "set_device",
    "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream", "stream", "synchronize",
]
