# SPDX-License-Identifier: Apache-2.0
"""Collectives over arrays of the devices of this process, with the rules of torch.cuda.comm. docs/comm.md has them.

Everything is submitted to the calling thread's current streams, behind their earlier work; a result is ready in the
order of its own stream.
"""

from ._core import comm_broadcast as broadcast
from ._core import comm_broadcast_coalesced as broadcast_coalesced
from ._core import comm_gather as gather
from ._core import comm_reduce_add as reduce_add
from ._core import comm_reduce_add_coalesced as reduce_add_coalesced
from ._core import comm_scatter as scatter

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]
