# SPDX-License-Identifier: Apache-2.0
"""The exceptions. Each is an `Error`; where Python has a class for such an error, it is of that class as well."""

from __future__ import annotations


class Error(RuntimeError):
    """What went wrong in a call of anyplace.

    `code` is one word of the table in docs/applications.md ("invalid_argument"). `problem` says what is wrong, `remedy`
    what would be right, and `see` where to look; each is "" where there is nothing to say. `vendor_code`, `vendor_name`
    and `vendor_text` are what the vendor's driver said. `memory` has the figures of an out_of_memory, in bytes.
    """

    code: str = "internal"
    place: str = ""
    operation: str = ""
    problem: str = ""
    remedy: str = ""
    see: str = ""
    vendor_code: int = 0
    vendor_name: str = ""
    vendor_text: str = ""
    memory: dict[str, int | None] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (type(self), str(self), self.__dict__)


class InvalidArgumentError(Error, ValueError):
    """An argument is outside what the call accepts."""


class ClosedError(Error, ValueError):
    """The object was closed, or its device was reset."""


class UnsupportedError(Error, NotImplementedError):
    """The backend or the device lacks the capability."""


class OutOfMemoryError(Error, MemoryError):
    """The memory asked for is not to be had; `memory` has the figures."""


class NoDeviceError(Error, LookupError):
    """There is no such backend, or no such device."""


class DeviceLostError(Error):
    """The device failed for good in this process."""


class CompileError(Error):
    """The source of kernels can't be compiled; `vendor_text` has the compiler's log."""


class StreamFault(Error):
    """Work of a stream failed: a kernel, or a host function, whose exception is the `__cause__`."""


_CLASSES: dict[str, type[Error]] = {
    "invalid_argument": InvalidArgumentError,
    "invalid_handle": ClosedError,
    "no_such_backend": NoDeviceError,
    "no_such_device": NoDeviceError,
    "out_of_memory": OutOfMemoryError,
    "unsupported": UnsupportedError,
    "device_lost": DeviceLostError,
    "compile_failed": CompileError,
    "host_function_failed": StreamFault,
    "kernel_failed": StreamFault,
}


def make(text: str, details: dict[str, object], cause: BaseException | None) -> Error:
    """The exception for an error of the library. The binding calls it."""
    error = _CLASSES.get(str(details["code"]), Error)(text)
    error.__dict__.update(details)
    error.__cause__ = cause
    return error


def _unpickle(kind: type[Error], text: str, details: dict[str, object]) -> Error:
    error = kind(text)
    error.__dict__.update(details)
    return error
