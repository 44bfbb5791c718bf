# SPDX-License-Identifier: Apache-2.0
"""torch's exceptions, and which of anyplace's become which."""

from __future__ import annotations

import anyplace

from .._shared import translating


class AcceleratorError(RuntimeError):
    """A device's error; `error_code` is the vendor's number, or CUDA's for the same."""

    error_code: int = 0

    def __init__(self, message: str = "", error_code: int = 0) -> None:
        super().__init__(message)
        self.error_code = error_code


class OutOfMemoryError(RuntimeError):
    """The memory asked for is not to be had."""


class CudaError(RuntimeError):
    """A call of the runtime failed with `code`."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the device's runtime failed with the code {code}")
        self.code = code


class DeferredCudaCallError(Exception):
    """A call that was put off until the first use failed then."""


_ACCELERATOR_CODES = {
    "no_such_device": 101,
    "no_such_backend": 100,
    "host_function_failed": 719,
    "kernel_failed": 719,
    "device_lost": 719,
    "capturing": 900,
    "capture_invalidated": 901,
}


def of(error: anyplace.Error) -> BaseException | None:
    if isinstance(error, anyplace.OutOfMemoryError):
        return OutOfMemoryError(f"out of memory: {error}")
    code = _ACCELERATOR_CODES.get(error.code)
    if code is None:
        return None
    told = error.vendor_code or code
    if error.code == "no_such_device":
        return AcceleratorError(f"invalid device ordinal: {error}", told)
    return AcceleratorError(str(error), told)


torch_errors = translating(of)
