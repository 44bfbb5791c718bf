# SPDX-License-Identifier: Apache-2.0
"""Streams and events: torch's own, with the device filled in."""
import torch

from . import _C
from ._index import device_index
from .devices import _lazy_init


def _device(device):
    return torch.device("anyplace", device_index(device))


class _OfThisDevice(type):
    """isinstance() of what torch makes: its calls take its own classes and no others, so that these make those."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, cls._of) and instance.device is not None and instance.device.type == "anyplace"


class Stream(metaclass=_OfThisDevice):
    """A torch.Stream: a queue of work on a device. A lower number of `priority` runs first; 0 is the default. The device has
    32 streams of each priority, which are handed out in turn."""

    _of = torch.Stream

    def __new__(cls, device=None, priority=0):
        _lazy_init()
        return torch.Stream(device=_device(device), priority=priority)

    @staticmethod
    def priority_range(device=None):
        """(least, greatest): the numbers of the lowest and the highest priority."""
        _lazy_init()
        return _C.priority_range(device_index(device))


class Event(metaclass=_OfThisDevice):
    """A torch.Event: a mark in a stream's work. elapsed_time() needs enable_timing=True."""

    _of = torch.Event

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, device=None):
        _lazy_init()
        return torch.Event(device=_device(device), enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


def current_stream(device=None):
    """The calling thread's, on that device."""
    _lazy_init()
    return torch.accelerator.current_stream(_device(device))


def default_stream(device=None):
    """The device's null stream."""
    _lazy_init()
    device = _device(device)
    _C.place(device.index)
    return torch.Stream(stream_id=0, device_index=device.index, device_type=int(torch._C._autograd.DeviceType.PrivateUse1))


def set_stream(stream):
    """Makes it the calling thread's current stream, and its device the current one. None changes nothing."""
    if stream is not None:
        _lazy_init()
        torch.accelerator.set_stream(stream)


class StreamContext:
    """With it, `stream` is the current one, and its device is current; both are put back after. None changes nothing."""

    def __init__(self, stream):
        self.stream = stream
        self.before = None

    def __enter__(self):
        if self.stream is not None:
            index = _C.current_index()
            self.before = (index, current_stream(self.stream.device))
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *_):
        if self.before is not None:
            index, stream = self.before
            set_stream(stream)
            _C.set_index(index)
        return False


def stream(stream):
    return StreamContext(stream)
