# SPDX-License-Identifier: Apache-2.0
"""paddle.device.nvtx over anyplace.annotate."""

from __future__ import annotations

from ... import annotate


def range_push(msg: str) -> None:
    annotate.range_push(msg)


def range_pop() -> None:
    annotate.range_pop()
