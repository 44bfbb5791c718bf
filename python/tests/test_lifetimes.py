# SPDX-License-Identifier: Apache-2.0
"""What a graph's launches use stays until they are done, whatever becomes of the graph."""

import gc
import weakref

import pytest

import anyplace

pytestmark = pytest.mark.thread_unsafe(reason="a stream is captured once at a time")


class Lent(bytearray):
    """Memory of the host of which a weak reference says whether anybody keeps it."""


@pytest.fixture
def copying(stream):
    """copying(): a graph that copies memory of the host, the buffer that gets it, and a weak reference to the memory."""
    buffer = anyplace.Buffer(stream, 8)

    def captured(data=b"anyplace"):
        lent = Lent(data)
        with stream.capture() as graph:
            stream.copy(buffer, lent)
        return graph, buffer, weakref.ref(lent)

    return captured


def read(stream, buffer):
    data = bytearray(8)
    stream.copy(data, buffer)
    stream.synchronize()
    return bytes(data)


@pytest.mark.parametrize("end", ["dropped", "closed"])
def test_what_a_graph_copies_stays_until_its_last_launch_is_done(device, stream, hold, copying, end):
    graph, buffer, lent = copying()
    stream.synchronize()
    graph.launch(stream)
    stream.synchronize()
    other = anyplace.Stream(device)
    gate = hold(other)
    graph.launch(other)
    if end == "closed":
        graph.close()
    else:
        del graph
    gc.collect()
    assert lent() is not None
    gate.set()
    other.synchronize()
    assert lent() is None and read(stream, buffer) == b"anyplace"


def test_a_graph_that_wasnt_launched_gives_back_what_it_copies_at_once(stream, copying):
    graph, _, lent = copying()
    graph.instantiate()
    graph.close()
    assert lent() is None


def test_what_an_update_replaces_stays_until_its_last_launch_is_done(stream, hold, copying):
    graph = copying()[0]
    second, buffer, lent = copying(b"second..")
    graph.update(second)
    del second
    gate = hold(stream)
    graph.launch(stream)
    graph.update(copying(b"third...")[0])
    gc.collect()
    assert lent() is not None
    gate.set()
    assert read(stream, buffer) == b"second.."
    assert lent() is None  # and isn't kept as long as the graph
    graph.launch(stream)
    assert read(stream, buffer) == b"third..."


def test_a_graph_that_has_another_one_in_it_keeps_what_that_copies(stream, copying):
    inner, buffer, lent = copying()
    with stream.capture() as outer:
        inner.launch(stream)
    inner.close()
    assert lent() is not None
    outer.launch(stream)
    assert read(stream, buffer) == b"anyplace"
    outer.close()
    assert lent() is None


def test_a_capture_that_is_dropped_before_its_end_keeps_what_it_copies(stream):
    """Its stream may end it, and gets the graph then."""
    buffer = anyplace.Buffer(stream, 8)
    stream.capture().__enter__()
    gc.collect()
    lent = Lent(b"anyplace")
    stream.copy(buffer, lent)
    lent = weakref.ref(lent)
    graph = stream.end_capture()
    assert lent() is not None
    graph.launch(stream)
    assert read(stream, buffer) == b"anyplace"


def test_a_capture_whose_stream_is_gone_keeps_nothing_once_the_next_begins(device, stream):
    other = anyplace.Stream(device)
    other.begin_capture("relaxed")
    lent = Lent(b"anyplace")
    other.copy(anyplace.Buffer(device, 8), lent)
    lent = weakref.ref(lent)
    other.close()
    with stream.capture("relaxed"):
        pass
    assert lent() is None
