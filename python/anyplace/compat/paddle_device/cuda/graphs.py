# SPDX-License-Identifier: Apache-2.0
"""paddle.device.cuda.graphs: CUDAGraph captures the current stream."""

from __future__ import annotations

import os
from typing import Any

import anyplace

from ... import _shared
from .._device import _gpu

ALL_MODES = ["global", "thread_local", "relaxed"]


class CUDAGraph:
    """Work that is captured once and replayed."""

    def __init__(self, place: Any = None, mode: str = "thread_local", pool_id: int | None = None) -> None:
        if mode not in ALL_MODES:
            raise AssertionError(f"mode: {mode!r} is none of {ALL_MODES}")
        self._device = _gpu(place)
        self._mode = mode
        self._graph: anyplace.Graph | None = None
        self._stream: anyplace.Stream | None = None
        self._former: anyplace.Stream | None = None
        self._ref: _shared.StreamRef | None = None

    def capture_begin(self) -> None:
        """Captures the current stream; for the null stream, which can't be captured, a stream of its own is current."""
        current = anyplace.current_stream(self._device)
        if current == self._device.default_stream:
            self._former = current
            current.synchronize()
            current = anyplace.Stream(self._device)
            self._ref = _shared.ref_of(current)
            anyplace.set_current_stream(current)
        current.begin_capture(self._mode)
        self._stream = current

    def capture_end(self) -> None:
        if self._stream is None:
            raise RuntimeError("capture_end: no capture was begun with this graph")
        stream, self._stream = self._stream, None
        try:
            self._graph = stream.end_capture()
        finally:
            if self._former is not None:
                anyplace.set_current_stream(self._former)
                self._former = None

    def replay(self) -> None:
        """Launches all of it on the current stream."""
        if self._graph is None:
            raise RuntimeError("replay: nothing was captured; capture_begin and capture_end do that")
        self._graph.launch(anyplace.current_stream(self._device))

    def reset(self) -> None:
        self._graph = None

    def print_to_dot_files(self, dirname: str, flags: int | None = None) -> None:
        """Writes the graph as text for Graphviz into a file in the folder."""
        if not isinstance(dirname, str | bytes | os.PathLike):
            raise TypeError("dirname: it is a path")
        if self._graph is None:
            raise RuntimeError("print_to_dot_files: nothing was captured")
        os.makedirs(dirname, exist_ok=True)
        with open(os.path.join(os.fsdecode(dirname), f"graph_{id(self._graph)}.dot"), "w", encoding="utf-8") as file:
            file.write(self._graph.to_dot())


def is_cuda_graph_supported() -> bool:
    return True


wrap_cuda_graph = _shared.refusing("wrap_cuda_graph", "functions of layers need Paddle's own tensors")
