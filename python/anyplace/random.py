# SPDX-License-Identifier: Apache-2.0
"""Random numbers, the same bits on every backend. docs/random.md has what each fill draws."""

from ._core import Device, Generator, default_generator

__all__ = ["Generator", "default_generator", "manual_seed"]


def manual_seed(device: Device | str, seed: int) -> None:
    """Seeds the device's own generator. Loads nothing."""
    default_generator(device).manual_seed(seed)
