# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.nccl: refused, as what it takes is tensors or their addresses."""

from __future__ import annotations

from .._shared import refusing

_REASON = "anyplace.comm and anyplace.Communicator have collectives of anyplace's arrays"

available = False


class NcclError(RuntimeError):
    """What CuPy raises for a status of NCCL's."""


NcclCommunicator = refusing("nccl.NcclCommunicator", _REASON)
get_unique_id = refusing("nccl.get_unique_id", _REASON)
get_version = refusing("nccl.get_version", _REASON)
get_build_version = refusing("nccl.get_build_version", _REASON)
groupStart = refusing("nccl.groupStart", _REASON)
groupEnd = refusing("nccl.groupEnd", _REASON)
