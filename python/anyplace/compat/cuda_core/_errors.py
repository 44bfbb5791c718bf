# SPDX-License-Identifier: Apache-2.0
"""cuda.core's CUDAError, and which of anyplace's errors become it."""

from __future__ import annotations

import anyplace

from .._shared import translating


class CUDAError(Exception):
    """A call of the driver failed."""


def of(error: anyplace.Error) -> BaseException | None:
    if isinstance(error, ValueError | NotImplementedError):
        return None  # an argument's error, or a capability's, is the Python class of that
    return CUDAError(str(error))


core_errors = translating(of)
