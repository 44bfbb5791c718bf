# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.nccl: refused, as what it takes is tensors or their addresses."""

from __future__ import annotations

from .._shared import refusing

_REASON = "anyplace.comm and anyplace.Communicator have collectives of anyplace's arrays"

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
