# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.nccl: refused, as Python has no collectives of anyplace's yet."""

from __future__ import annotations

from .._shared import refusing

_REASON = "collectives aren't part of the Python package yet; the C++ library's comm.h has them"

available = False


class NcclError(RuntimeError):
    """What CuPy raises for a status of NCCL's."""


NcclCommunicator = refusing("nccl.NcclCommunicator", _REASON)
get_unique_id = refusing("nccl.get_unique_id", _REASON)
get_version = refusing("nccl.get_version", _REASON)
get_build_version = refusing("nccl.get_build_version", _REASON)
groupStart = refusing("nccl.groupStart", _REASON)
groupEnd = refusing("nccl.groupEnd", _REASON)
