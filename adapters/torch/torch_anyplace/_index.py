# SPDX-License-Identifier: Apache-2.0
"""What may name a device in the calls of torch.anyplace."""
import torch

from . import _C


def device_index(device=None):
    """None: the current one. Else a number, "anyplace:1" or a torch.device of this type."""
    if device is None:
        return _C.current_index()
    if isinstance(device, bool) or not isinstance(device, (int, str, torch.device)):
        raise TypeError(f"expected a number, a text or a torch.device, and got {device!r}")
    if isinstance(device, int):
        return device
    device = torch.device(device)
    if device.type != "anyplace":
        raise ValueError(f"expected an anyplace device, and got {device}")
    return _C.current_index() if device.index is None else device.index
