# SPDX-License-Identifier: Apache-2.0
"""paddle.device's figures of memory, and random numbers' seeds."""

from __future__ import annotations

from typing import Any

import anyplace

from .. import _shared
from ._device import _gpu


def _of(device: Any) -> anyplace.Device:
    return _gpu(device, ValueError)


def empty_cache() -> None:
    """Gives cached memory that no work uses back to every device."""
    for each in anyplace.devices(_shared.backend()):
        anyplace.memory.empty_cache(each)


def memory_allocated(device: Any = None) -> int:
    return anyplace.memory.allocated(_of(device))


def max_memory_allocated(device: Any = None) -> int:
    return anyplace.memory.max_allocated(_of(device))


def memory_reserved(device: Any = None) -> int:
    return anyplace.memory.reserved(_of(device))


def max_memory_reserved(device: Any = None) -> int:
    return anyplace.memory.max_reserved(_of(device))


def reset_peak_memory_stats(device: Any = None) -> None:
    anyplace.memory.reset_peak_stats(_of(device))


def reset_max_memory_allocated(device: Any = None) -> None:
    """Resets all peaks."""
    reset_peak_memory_stats(device)


def reset_max_memory_reserved(device: Any = None) -> None:
    """Resets all peaks."""
    reset_peak_memory_stats(device)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes."""
    return _shared.mem_get_info(_of(device))


def memory_summary(device: Any = None) -> None:
    """Prints the figures as a table."""
    print(anyplace.memory.summary(_of(device)))


def memory_stats(device: Any = None) -> dict[str, Any]:
    return dict(anyplace.memory.stats(_of(device)))


def vmm_compact(device: Any = None) -> int:
    """Nothing is moved: 0 bytes were freed by it."""
    _of(device)
    return 0


def ipc_collect() -> None:
    """Nothing is left to do: memory that peers let go is given back by itself."""


class GeneratorState:
    """An opaque state of a device's random numbers."""

    def __init__(self, state: bytes, seed: int) -> None:
        self._state = state
        self._seed = seed

    def current_seed(self) -> int:
        return self._seed


def manual_seed(seed: int) -> None:
    anyplace.random.default_generator(_of(None)).manual_seed(seed % 2**64)


def manual_seed_all(seed: int) -> None:
    for each in anyplace.devices(_shared.backend()):
        anyplace.random.default_generator(each).manual_seed(seed % 2**64)


def get_rng_state(device: Any = None) -> GeneratorState:
    generator = anyplace.random.default_generator(_of(device))
    return GeneratorState(bytes(generator.get_state()), generator.initial_seed)


def set_rng_state(new_state: GeneratorState, device: Any = None) -> None:
    if not isinstance(new_state, GeneratorState):
        raise ValueError("new_state: it is what get_rng_state returned")
    anyplace.random.default_generator(_of(device)).set_state(new_state._state)


allocate_record_table = _shared.refusing("allocate_record_table", "allocations aren't recorded by name here")
allocate_record_plot = _shared.refusing("allocate_record_plot", "allocations aren't recorded by name here")
allocate_record_guard = _shared.refusing("allocate_record_guard", "allocations aren't recorded by name here")
