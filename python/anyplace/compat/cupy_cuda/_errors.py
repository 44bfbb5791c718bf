# SPDX-License-Identifier: Apache-2.0
"""CuPy's exceptions, and which of anyplace's become which."""

from __future__ import annotations

import anyplace

from .._shared import translating

_NAMES = {
    0: ("cudaSuccess", "no error"),
    1: ("cudaErrorInvalidValue", "invalid argument"),
    2: ("cudaErrorMemoryAllocation", "out of memory"),
    4: ("cudaErrorCudartUnloading", "driver shutting down"),
    98: ("cudaErrorInvalidDeviceFunction", "invalid device function"),
    100: ("cudaErrorNoDevice", "no CUDA-capable device is detected"),
    101: ("cudaErrorInvalidDevice", "invalid device ordinal"),
    200: ("cudaErrorInvalidKernelImage", "device kernel image is invalid"),
    400: ("cudaErrorInvalidResourceHandle", "invalid resource handle"),
    401: ("cudaErrorIllegalState", "the operation cannot be performed in the present state"),
    500: ("cudaErrorSymbolNotFound", "named symbol not found"),
    600: ("cudaErrorNotReady", "device not ready"),
    719: ("cudaErrorLaunchFailure", "unspecified launch failure"),
    800: ("cudaErrorNotPermitted", "operation not permitted"),
    801: ("cudaErrorNotSupported", "operation not supported"),
    900: ("cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"),
    901: ("cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"),
    999: ("cudaErrorUnknown", "unknown error"),
}
_STATUS = {
    "invalid_argument": 1,
    "out_of_memory": 2,
    "shut_down": 4,
    "no_such_backend": 100,
    "no_such_device": 101,
    "invalid_image": 200,
    "invalid_handle": 400,
    "timing_disabled": 400,
    "not_recorded": 400,
    "no_such_kernel": 500,
    "no_such_global": 500,
    "not_ready": 600,
    "host_function_failed": 719,
    "kernel_failed": 719,
    "device_lost": 719,
    "not_permitted": 800,
    "unsupported": 801,
    "capturing": 900,
    "capture_invalidated": 901,
}


class CUDARuntimeError(RuntimeError):
    """A call failed; `status` is the number that CUDA's runtime has for it."""

    def __init__(self, status: int, detail: str = "") -> None:
        self.status = status
        self._detail = detail
        name, text = _NAMES.get(status, ("cudaErrorUnknown", "unknown error"))
        super().__init__(f"{name}: {text}" + (f" ({detail})" if detail else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.status, self._detail)


class CUDADriverError(RuntimeError):
    """A call that CuPy makes to the driver failed."""

    def __init__(self, status: int, detail: str = "") -> None:
        self.status = status
        self._detail = detail
        name, text = _NAMES.get(status, ("cudaErrorUnknown", "unknown error"))
        super().__init__(f"{name.replace('cudaError', 'CUDA_ERROR_')}: {text}" + (f" ({detail})" if detail else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.status, self._detail)


class OutOfMemoryError(MemoryError):
    """The memory asked for is not to be had."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        self._size, self._total, self._limit = size, total, limit
        if limit == 0:
            message = f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes)."
        else:
            message = (
                f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes, "
                f"limit set to: {limit:,} bytes)."
            )
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._size, self._total, self._limit)


class CompileException(Exception):
    """The source of kernels can't be compiled."""

    def __init__(self, msg: str, source: str, name: str, options: tuple[str, ...], backend: str = "nvrtc") -> None:
        self._msg = msg
        self.source = "\n".join(f"{i:04d} {line}" for i, line in enumerate(source.splitlines(), 1))
        self._source = source
        self.name = name
        self.options = options
        self.backend = backend
        super().__init__(msg)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._msg, self._source, self.name, self.options, self.backend)

    def get_message(self) -> str:
        return self._msg

    def __str__(self) -> str:
        return self._msg

    def dump(self, f: object) -> None:
        """Writes the source with line numbers and the options to a file."""
        write = getattr(f, "write")
        write(f"{self.backend} options: {' '.join(self.options)}\n{self.source}\n{self._msg}\n")


def of(error: anyplace.Error) -> BaseException:
    if isinstance(error, anyplace.OutOfMemoryError):
        figures = error.memory or {}
        used = (figures.get("in_use") or 0) + (figures.get("cached") or 0)
        return OutOfMemoryError(figures.get("requested") or 0, used, figures.get("limit") or 0)
    return CUDARuntimeError(_STATUS.get(error.code, 999), str(error))


def driver_error_of(error: anyplace.Error) -> BaseException:
    return CUDADriverError(_STATUS.get(error.code, 999), str(error))


cupy_errors = translating(of)
driver_errors = translating(driver_error_of)
