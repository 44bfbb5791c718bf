# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.graph: work that Stream.end_capture returns."""

from __future__ import annotations

from typing import Any

import anyplace

from ._errors import cupy_errors


class Graph:
    """Work that was captured, to be launched again and again."""

    _graph: anyplace.Graph

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise NotImplementedError("currently this class can only be initiated by capturing a stream")

    @classmethod
    def _of(cls, graph: anyplace.Graph) -> Graph:
        made = cls.__new__(cls)
        made._graph = graph
        graph.instantiate()
        return made

    @cupy_errors
    def launch(self, stream: Any = None) -> None:
        """Launches it on `stream`, or on the current stream."""
        from .stream import get_current_stream

        self._graph.launch((get_current_stream() if stream is None else stream)._stream)

    @cupy_errors
    def upload(self, stream: Any = None) -> None:
        """Nothing is left to do: a graph is ready when its capture has ended."""

    @cupy_errors
    def debug_dot_str(self, flags: int = 0) -> str:
        """The graph as text for Graphviz. `flags` are kept in a comment."""
        text = self._graph.to_dot()
        return f"// flags {flags}\n{text}" if flags else text
