# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.graphs: CUDAGraph and the context manager that captures into one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import anyplace

from .. import _shared
from ._device import _device_of, synchronize
from ._errors import torch_errors
from ._streams import Stream, StreamContext, current_stream
from .memory import MemPool, empty_cache

_pools: dict[tuple[int, int], anyplace.GraphPool] = {}
_pool_numbers = itertools.count(1)
_PoolId = tuple[int, int]


def graph_pool_handle() -> _PoolId:
    """A token: graphs that are captured with it share their memory."""
    return next(_pool_numbers), 0


def _pool_of(pool: Any, device: anyplace.Device) -> tuple[_PoolId, anyplace.GraphPool]:
    if isinstance(pool, MemPool):
        raise NotImplementedError(
            "pool: a graph's memory comes from graph_pool_handle() or another graph, not from a MemPool"
        )
    token: _PoolId = graph_pool_handle() if pool is None else tuple(pool)
    if token not in _pools:
        _pools[token] = anyplace.GraphPool(device)
    return token, _pools[token]


class CUDAGraph:
    """Work that is captured once and replayed on the current stream."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._keep_graph = keep_graph
        self._graph: anyplace.Graph | None = None
        self._stream: Stream | None = None
        self._pool: _PoolId | None = None
        self._debug = False
        self._retained: list[object] = []
        self._destroyed: list[Callable[[], None]] = []
        self._hooks: dict[str, list[Callable[[CUDAGraph], None]]] = {}

    def _call(self, kind: str) -> None:
        for hook in self._hooks.get(kind, []):
            hook(self)

    @torch_errors
    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        """Captures the current stream, which isn't the default one."""
        if capture_error_mode not in ("global", "thread_local", "relaxed"):
            raise RuntimeError(
                f"Unknown capture error mode: '{capture_error_mode}'; global, thread_local and relaxed are known"
            )
        stream = current_stream()
        if stream.cuda_stream == 0:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream: with torch.cuda.stream(s)")
        self._pool, memory = _pool_of(pool, stream._ref.stream.device)
        self._call("capture_start")
        stream._ref.stream.begin_capture(capture_error_mode, memory)
        self._stream = stream

    @torch_errors
    def capture_end(self) -> None:
        if self._stream is None:
            raise RuntimeError("capture_end: no capture was begun with this graph")
        stream, self._stream = self._stream, None
        self._graph = stream._ref.stream.end_capture()
        self._call("capture_end")
        if not self._keep_graph:
            self.instantiate()

    @torch_errors
    def instantiate(self) -> None:
        self._captured().instantiate()
        self._call("post_instantiate")

    def _captured(self) -> anyplace.Graph:
        if self._graph is None:
            raise RuntimeError("Called CUDAGraph.replay without a preceding successful capture.")
        return self._graph

    @torch_errors
    def replay(self) -> None:
        """Launches all of it on the current stream."""
        graph = self._captured()
        self._call("replay_start")
        graph.launch(anyplace.current_stream(graph.device))
        self._call("replay_end")

    def reset(self) -> None:
        self._graph = None
        self._retained.clear()
        for callback in self._destroyed:
            callback()
        self._destroyed.clear()

    def pool(self) -> _PoolId:
        """The token by which another graph shares this one's memory."""
        if self._pool is None:
            raise RuntimeError("Called CUDAGraph.pool() without a preceding successful capture.")
        return self._pool

    def pools(self) -> list[_PoolId]:
        return [self.pool()]

    def enable_debug_mode(self) -> None:
        self._debug = True

    @torch_errors
    def debug_dump(self, debug_path: str, *, verbose: bool = True) -> None:
        """Writes the graph as text for Graphviz."""
        with open(debug_path, "w", encoding="utf-8") as file:
            file.write(self._captured().to_dot())

    raw_cuda_graph = _shared.refusing("CUDAGraph.raw_cuda_graph", "graphs have no handle of the vendor's")
    raw_cuda_graph_exec = _shared.refusing("CUDAGraph.raw_cuda_graph_exec", "graphs have no handle of the vendor's")
    get_graph_data = _shared.refusing(
        "CUDAGraph.get_graph_data", "the data are PyTorch's own; debug_dump writes the nodes"
    )

    def retain_object(self, *objects: object) -> None:
        """Keeps the objects as long as the graph."""
        self._retained.extend(objects)

    def register_destroy_callback(
        self, callback: Callable[[], None], *, synchronize_before_release: bool = False
    ) -> None:
        self._destroyed.append(callback)

    def register_capture_start_hook(self, hook: Callable[[CUDAGraph], None]) -> None:
        self._hooks.setdefault("capture_start", []).append(hook)

    def register_capture_end_hook(self, hook: Callable[[CUDAGraph], None]) -> None:
        self._hooks.setdefault("capture_end", []).append(hook)

    def register_post_instantiate_hook(self, hook: Callable[[CUDAGraph], None]) -> None:
        self._hooks.setdefault("post_instantiate", []).append(hook)

    def register_replay_start_hook(self, hook: Callable[[CUDAGraph], None]) -> None:
        self._hooks.setdefault("replay_start", []).append(hook)

    def register_replay_end_hook(self, hook: Callable[[CUDAGraph], None]) -> None:
        self._hooks.setdefault("replay_end", []).append(hook)


class graph:
    """with graph(g): captures into g on a stream of its own, or on `stream`."""

    _default_streams: dict[int, Stream] = {}

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        annotation_config: Any = None,
        check_input_liveness: bool = False,
    ) -> None:
        self.cuda_graph = cuda_graph
        self.pool = pool
        self.capture_error_mode = capture_error_mode
        if stream is None:
            index = _device_of(None).index
            stream = graph._default_streams.get(index) or graph._default_streams.setdefault(index, Stream())
        self.capture_stream = stream
        self.stream_ctx = StreamContext(stream)

    def __enter__(self) -> None:
        synchronize()
        empty_cache()
        self.stream_ctx.__enter__()
        try:
            self.cuda_graph.capture_begin(pool=self.pool, capture_error_mode=self.capture_error_mode)
        except BaseException:
            self.stream_ctx.__exit__()
            raise

    def __exit__(self, *exception: object) -> None:
        try:
            self.cuda_graph.capture_end()
        except RuntimeError:
            if not exception or exception[0] is None:
                raise
        finally:
            self.stream_ctx.__exit__()


make_graphed_callables = _shared.refusing("make_graphed_callables", "callables of modules need PyTorch's autograd")
