# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.profiler: marks where a profile begins and ends. Profilers are started by their own commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ... import annotate


def start() -> None:
    annotate.mark("profiler: start")


def stop() -> None:
    annotate.mark("profiler: stop")


@contextmanager
def profile() -> Iterator[None]:
    start()
    try:
        yield
    finally:
        stop()
