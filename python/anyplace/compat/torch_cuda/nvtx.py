# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.nvtx over anyplace.annotate: whatever profiler listens shows the names."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ... import annotate

_depths = threading.local()
_started = itertools.count(1)
_open: dict[int, str] = {}


def range_push(msg: str) -> int:
    """Begins a range on this thread, and returns its depth from 0 on."""
    annotate.range_push(str(msg))
    depth: int = getattr(_depths, "now", 0)
    _depths.now = depth + 1
    return depth


def range_pop() -> int:
    """Ends the innermost range, and returns its depth."""
    annotate.range_pop()
    depth: int = max(0, getattr(_depths, "now", 0) - 1)
    _depths.now = depth
    return depth


def range_start(msg: str) -> int:
    """Marks the beginning of a range that any thread may end, by the number that this returns."""
    number = next(_started)
    _open[number] = str(msg)
    annotate.mark(f"{msg}: begins")
    return number


def range_end(range_id: int) -> None:
    name = _open.pop(range_id, None)
    if name is not None:
        annotate.mark(f"{name}: ends")


def mark(msg: str) -> None:
    annotate.mark(str(msg))


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range as long as a `with` statement or a call of the function that it decorates."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
