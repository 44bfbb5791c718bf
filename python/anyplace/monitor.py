# SPDX-License-Identifier: Apache-2.0
"""How busy, full and hot a device is, whoever uses it. docs/monitoring.md says which vendor tells what."""

from typing import Any

from ._core import Device, Monitor
from ._core import monitoring_source as source

__all__ = ["Monitor", "sample", "source"]


def sample(device: Device | str) -> dict[str, Any]:
    """The device now. Figures that need an earlier sample are None; a `Monitor` has them."""
    return Monitor(device).sample()
