# SPDX-License-Identifier: Apache-2.0
"""Random numbers. The same seed gives the same numbers as on the CPU."""
from . import _C
from ._index import device_index
from .devices import _lazy_init


def _generator(device):
    _lazy_init()
    return _C.default_generator(device_index(device))


def _all():
    _lazy_init()
    return [_C.default_generator(index) for index in range(_C.place_count())]


def get_rng_state(device="anyplace"):
    return _generator(device).get_state()


def set_rng_state(new_state, device="anyplace"):
    _generator(device).set_state(new_state)


def get_rng_state_all():
    return [generator.get_state() for generator in _all()]


def set_rng_state_all(new_states):
    for generator, state in zip(_all(), new_states, strict=True):
        generator.set_state(state)


def manual_seed(seed):
    """Of the current device."""
    _generator(None).manual_seed(int(seed))


def manual_seed_all(seed):
    """Of every device. torch.manual_seed calls it; where there is no device it does nothing."""
    if _C.is_in_bad_fork() or _C.place_count() == 0:
        return
    for generator in _all():
        generator.manual_seed(int(seed))


def seed():
    return _generator(None).seed()


def seed_all():
    """One seed for all of them, drawn by the current device's generator."""
    drawn = seed()
    manual_seed_all(drawn)
    return drawn


def initial_seed():
    return _generator(None).initial_seed()
