# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.nccl: refused, as Python has no collectives of anyplace's yet."""

from __future__ import annotations

from .._shared import refusing

_REASON = "collectives aren't part of the Python package yet; the C++ library's comm.h has them"

version = refusing("nccl.version", _REASON)
unique_id = refusing("nccl.unique_id", _REASON)
init_rank = refusing("nccl.init_rank", _REASON)
all_reduce = refusing("nccl.all_reduce", _REASON)
reduce = refusing("nccl.reduce", _REASON)
broadcast = refusing("nccl.broadcast", _REASON)
all_gather = refusing("nccl.all_gather", _REASON)
reduce_scatter = refusing("nccl.reduce_scatter", _REASON)


def is_available(tensors: object) -> bool:
    """False: there are no collectives here."""
    return False
