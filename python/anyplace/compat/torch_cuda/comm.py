# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.comm: refused, as what it takes is tensors or their addresses."""

from __future__ import annotations

from .._shared import refusing

_REASON = "anyplace.comm and anyplace.Communicator have collectives of anyplace's arrays"

broadcast = refusing("comm.broadcast", _REASON)
broadcast_coalesced = refusing("comm.broadcast_coalesced", _REASON)
reduce_add = refusing("comm.reduce_add", _REASON)
reduce_add_coalesced = refusing("comm.reduce_add_coalesced", _REASON)
scatter = refusing("comm.scatter", _REASON)
gather = refusing("comm.gather", _REASON)
