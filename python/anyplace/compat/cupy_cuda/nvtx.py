# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.nvtx over anyplace.annotate: whatever profiler listens shows the names."""

from __future__ import annotations

from ... import annotate

available = True
_COLORS = (0xFF00FF00, 0xFF0000FF, 0xFFFFFF00, 0xFFFF00FF, 0xFF00FFFF, 0xFFFF0000, 0xFFFFFFFF)


def _color(id_color: int) -> int | None:
    return None if id_color < 0 else _COLORS[id_color % len(_COLORS)]


def Mark(message: str, id_color: int = -1) -> None:
    annotate.mark(message, color=_color(id_color))


def MarkC(message: str, color: int = 0) -> None:
    annotate.mark(message, color=color & 0xFFFFFFFF)


def RangePush(message: str, id_color: int = -1) -> None:
    annotate.range_push(message, color=_color(id_color))


def RangePushC(message: str, color: int = 0) -> None:
    annotate.range_push(message, color=color & 0xFFFFFFFF)


def RangePop() -> None:
    annotate.range_pop()
