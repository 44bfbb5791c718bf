# SPDX-License-Identifier: Apache-2.0
"""GraphBuilder, which captures a stream, and the Graph that comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyplace

from .. import _shared
from ._errors import core_errors
from ._streams import Stream, stream_of

_CONDITIONS = "nodes that decide at run time aren't there"


class Graph:
    """Work that was built, to be launched again and again."""

    _graph: anyplace.Graph

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise RuntimeError("Graph objects cannot be instantiated directly. Please use GraphBuilder APIs (complete).")

    @core_errors
    def launch(self, stream: Any) -> None:
        self._graph.launch(stream_of(stream))

    def upload(self, stream: Any) -> None:
        """Nothing is left to do: a graph is ready when it is complete."""

    @core_errors
    def update(self, source: GraphBuilder) -> None:
        """Gives later launches the work of another builder of the same form."""
        self._graph.update(source._ended())

    def close(self) -> None:
        self._graph.close()


class GraphBuilder:
    """Builds a graph of what is submitted to it, as to a stream, between begin_building and end_building."""

    _stream: Stream
    _graph: anyplace.Graph | None
    _building: bool
    _primary: bool

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise RuntimeError(
            "GraphBuilder objects cannot be instantiated directly. Please use Device or Stream APIs "
            "(create_graph_builder)."
        )

    @classmethod
    def _of(cls, stream: Stream, primary: bool = True) -> GraphBuilder:
        made = cls.__new__(cls)
        made._stream, made._graph, made._building, made._primary = stream, None, not primary, primary
        return made

    @property
    def stream(self) -> Stream:
        return self._stream

    @property
    def is_building(self) -> bool:
        return self._building

    @property
    def is_join_required(self) -> bool:
        """Whether it came from split()."""
        return not self._primary

    @core_errors
    def begin_building(self, mode: str = "relaxed") -> GraphBuilder:
        if mode not in ("global", "thread_local", "relaxed"):
            raise ValueError(f"Unsupported build mode: {mode}; global, thread_local and relaxed are known")
        if self._building or self._graph is not None:
            raise RuntimeError("Cannot start building: this builder has begun before.")
        self._stream._stream.begin_capture(mode)
        self._building = True
        return self

    @core_errors
    def end_building(self) -> GraphBuilder:
        if not self._building or not self._primary:
            raise RuntimeError("Graph builder is not building, or came from split() and has to be joined.")
        self._building = False
        self._graph = self._stream._stream.end_capture()
        return self

    def _ended(self) -> anyplace.Graph:
        if self._graph is None:
            raise RuntimeError("Graph has not finished building.")
        return self._graph

    @core_errors
    def complete(self, options: Any = None) -> Graph:
        made = Graph.__new__(Graph)
        # The executable is the graph's own, so a second complete() gives the same launches.
        made._graph = self._ended()
        made._graph.instantiate()
        return made

    @core_errors
    def split(self, count: int) -> tuple[GraphBuilder, ...]:
        """This builder and count - 1 others, whose work comes after what this one has so far."""
        if count < 2:
            raise ValueError(f"Invalid split count: expecting >= 2, got {count}")
        event = self._stream._stream.record_event()
        others = []
        for _ in range(count - 1):
            stream: Stream = Stream._init(device_id=self._stream._stream.device.index)
            stream._stream.wait_event(event)
            others.append(GraphBuilder._of(stream, primary=False))
        return (self, *others)

    @staticmethod
    @core_errors
    def join(*graph_builders: GraphBuilder) -> GraphBuilder:
        """The one that began, whose later work comes after all of the others'."""
        if len(graph_builders) < 2:
            raise ValueError(f"Must join with at least two graph builders, got {len(graph_builders)}")
        first = next((each for each in graph_builders if each._primary), graph_builders[0])
        for each in graph_builders:
            if each is not first:
                first._stream._stream.wait_stream(each._stream._stream)
                each._building = False
        return first

    @core_errors
    def callback(self, fn: Callable[..., object], *, user_data: Any = None) -> None:
        """Calls fn() at each launch; fn(user_data) if there are such."""
        arguments = () if user_data is None else (user_data,)
        self._stream._stream.launch_host_func(fn, *arguments)

    @core_errors
    def debug_dot_print(self, path: str, options: Any = None) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._ended().to_dot())

    def close(self) -> None:
        """Gives the graph up; one that is being built is thrown away."""
        if self._building and self._primary:
            self._building = False
            try:
                self._stream._stream.end_capture()
            except anyplace.Error:
                pass
        self._graph = None

    def __cuda_stream__(self) -> tuple[int, int]:
        return self._stream.__cuda_stream__()

    if_then = _shared.refusing("GraphBuilder.if_then", _CONDITIONS)
    if_else = _shared.refusing("GraphBuilder.if_else", _CONDITIONS)
    switch = _shared.refusing("GraphBuilder.switch", _CONDITIONS)
    while_loop = _shared.refusing("GraphBuilder.while_loop", _CONDITIONS)
    create_condition = _shared.refusing("GraphBuilder.create_condition", _CONDITIONS)
    embed = _shared.refusing("GraphBuilder.embed", "a launch in a capture puts a graph into another")


GraphDefinition = _shared.refusing(
    "GraphDefinition", "graphs are captured in Python; the C++ library's Graph::add_ functions build them node by node"
)
