# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.profiler: marks where a profile begins and ends."""

from __future__ import annotations

from ... import annotate


def start() -> None:
    annotate.mark("profiler: start")


def stop() -> None:
    annotate.mark("profiler: stop")
