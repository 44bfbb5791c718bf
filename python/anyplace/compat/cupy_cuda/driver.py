# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.driver: the few functions of the driver that programs call through CuPy."""

from __future__ import annotations

import anyplace

from .. import _shared
from ._errors import CUDADriverError, driver_errors

__all__ = [
    "CUDADriverError",
    "ctxGetCurrent",
    "ctxGetDevice",
    "get_build_version",
    "streamGetCtx",
]


def _context_of(device: anyplace.Device) -> int:
    return device.native_context() if _shared.is_cuda_like() else device.index + 1


def get_build_version() -> int:
    """13000: the version of CUDA whose names are here."""
    return 13000


def _is_cuda_python() -> bool:
    return False


@driver_errors
def ctxGetCurrent() -> int:
    """The current device's context; 0 on a thread that has used no device yet."""
    return _context_of(_shared.current()) if _shared.thread_uses_device() else 0


@driver_errors
def ctxGetDevice() -> int:
    return _shared.current().index


@driver_errors
def streamGetCtx(stream: int) -> int:
    return _context_of(_shared.ref_of_handle(stream, _shared.current()).stream.device)
