# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.random: seeds and states. A state is 16 bytes: the seed and the offset, little endian."""

from __future__ import annotations

import struct
from typing import Any

import anyplace

from ._device import _at_init, _DeviceIndex, _device_of, device_count, init


def _generator(device: _DeviceIndex) -> Any:
    return anyplace.random.default_generator(_device_of(device))


def manual_seed(seed: int) -> None:
    """Seeds the current device; before the first use, at that."""
    seed = int(seed)
    _at_init(lambda: _generator(None).manual_seed(seed % 2**64))


def manual_seed_all(seed: int) -> None:
    seed = int(seed)

    def seeded() -> None:
        for index in range(device_count()):
            _generator(index).manual_seed(seed % 2**64)

    _at_init(seeded)


def seed() -> None:
    """A random seed for the current device."""
    _at_init(lambda: _generator(None).seed())


def seed_all() -> None:
    """One random seed for all devices."""

    def seeded() -> None:
        number = _generator(0).seed()
        manual_seed_all(number)

    _at_init(seeded)


def initial_seed() -> int:
    init()
    return int(_generator(None).initial_seed)


def get_rng_state(device: _DeviceIndex = "cuda") -> bytearray:
    """16 bytes: the seed and the offset."""
    generator = _generator(device)
    return bytearray(struct.pack("<QQ", generator.initial_seed, generator.offset))


def set_rng_state(new_state: Any, device: _DeviceIndex = "cuda") -> None:
    """Takes what get_rng_state gave, or any 16 bytes of memory."""
    try:
        state = memoryview(new_state)
    except TypeError as error:
        raise TypeError(f"RNG state must be 16 bytes of memory, not a {type(new_state).__name__}") from error
    if state.itemsize != 1:
        raise TypeError("RNG state must be bytes (uint8)")
    if state.nbytes != 16:
        raise RuntimeError(f"RNG state is wrong size: it has 16 bytes, not {state.nbytes}")
    number, offset = struct.unpack("<QQ", state)
    generator = _generator(device)
    generator.manual_seed(number)
    generator.offset = offset


def get_rng_state_all() -> list[bytearray]:
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: list[Any]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]
