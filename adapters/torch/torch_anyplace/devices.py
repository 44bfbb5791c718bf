# SPDX-License-Identifier: Apache-2.0
"""Devices: which there are and which is current."""
import warnings

from . import _C
from ._index import device_index

_initialized = False
_warned = False


def _is_in_bad_fork():
    return _C.is_in_bad_fork()


def is_initialized():
    return _initialized and not _is_in_bad_fork()


def _lazy_init():
    """What torch calls before the first tensor. Opens the plugins."""
    global _initialized
    if is_initialized():
        return
    if _is_in_bad_fork():
        raise RuntimeError("anyplace devices can't be used in a forked process whose parent used them: start it with "
                           "multiprocessing's method 'spawn' or 'forkserver' (torch.multiprocessing.set_start_method), or don't "
                           "touch them before the fork")
    _C.init()
    _initialized = True


def init():
    """Opens the plugins now; the first use does it else. RuntimeError with the reason if there is no device."""
    _lazy_init()


def device_count():
    """0 where there is none, with a warning that says why."""
    global _warned
    if _is_in_bad_fork():
        return 0
    count = _C.place_count()
    if count == 0 and not _warned:
        _warned = True
        warnings.warn(f"there is no anyplace device: {_C.why_none()}", stacklevel=2)
    return count


def is_available():
    return device_count() > 0


def current_device():
    """The index of the calling thread's current device."""
    _lazy_init()
    return _C.current_index()


def set_device(device):
    _lazy_init()
    _C.set_index(device_index(device))


class device:
    """With it, another device is the current one. None, or a negative number, changes nothing."""

    def __init__(self, device):
        self.index = None if device is None else device_index(device)
        self.before = None

    def __enter__(self):
        if self.index is not None and self.index >= 0:
            _lazy_init()
            self.before = _C.current_index()
            _C.set_index(self.index)
        return self

    def __exit__(self, *_):
        if self.before is not None:
            _C.set_index(self.before)
        return False


class device_of(device):
    """The same with the device of a tensor or storage; nothing for one of another kind."""

    def __init__(self, of):
        super().__init__(of.device if of.device.type == "anyplace" else None)


def synchronize(device=None):
    """Returns when everything submitted to the device is done."""
    _lazy_init()
    _C.synchronize(device_index(device))


def place(device=None):
    """The device's name in anyplace: "cuda:1"."""
    _lazy_init()
    return _C.place(device_index(device))


def places():
    """Of all devices, by index."""
    _lazy_init()
    return [_C.place(index) for index in range(_C.place_count())]


def get_device_properties(device=None):
    """What the device says of itself, as a dict. None and "" are what it can't tell."""
    _lazy_init()
    return _C.properties(device_index(device))


def get_device_name(device=None):
    return get_device_properties(device)["name"]


def get_amp_supported_dtype():
    import torch

    return [torch.float16, torch.bfloat16]


def is_bf16_supported():
    """Operators run on the CPU, which has it."""
    return True
