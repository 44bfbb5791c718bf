# SPDX-License-Identifier: Apache-2.0
"""Buffers, events, devices and arrays in other processes, by pickles and by handles."""

import multiprocessing
import pickle

import pytest

import anyplace


def _add_one(buffer, ready, done, device):
    """In the other process: adds 1 to each byte after `ready`, and records `done`."""
    assert buffer.device == device
    stream = anyplace.Stream(device)
    stream.wait_event(ready)
    host = bytearray(len(buffer))
    stream.copy(host, buffer)
    stream.synchronize()
    stream.copy(buffer, bytes(each + 1 for each in host))
    stream.record_event(done)
    stream.synchronize()


def _describe(pipe):
    array = pipe.recv()
    pipe.send((array.shape, array.strides, array.dtype, array.tolist()))
    array.stream.fill(anyplace.Buffer(array.device, 1), 0)
    pipe.recv()


@pytest.fixture
def shareable(device):
    if not device.has("interprocess_memory") or not device.has("interprocess_events"):
        pytest.skip("the device shares nothing with other processes")
    return device


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_gets_the_memory_itself(shareable, stream, method):
    context = multiprocessing.get_context(method)
    buffer = anyplace.Buffer(stream, 4, shareable=True)
    ready, done = (anyplace.Event(shareable, interprocess=True) for _ in range(2))
    stream.copy(buffer, b"\x01\x02\x03\x04")
    stream.record_event(ready)
    process = context.Process(target=_add_one, args=(buffer, ready, done, shareable))
    process.start()
    process.join(100)
    assert process.exitcode == 0
    stream.wait_event(done)
    host = bytearray(4)
    stream.copy(host, buffer)
    stream.synchronize()
    assert host == b"\x02\x03\x04\x05"


def test_an_array_keeps_shape_strides_and_type(shareable, stream, place):
    if not place.startswith("cpu_sim"):
        pytest.skip("an array's memory can be shared as it is where it is in virtual memory")
    array = anyplace.asarray([[1, 2, 3], [4, 5, 6]], "int16", stream=stream)
    part = array[:, ::-1].permute((1, 0))
    stream.synchronize()
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_describe, args=(there,))
    process.start()
    here.send(part)
    assert here.poll(100) and here.recv() == ((3, 2), (-1, 3), "int16", [[3, 6], [2, 5], [1, 4]])
    here.send("bye")
    process.join(100)
    assert process.exitcode == 0
    del part, array
    assert anyplace.ipc.collect(shareable) == 0


def test_a_handle_is_refused_where_it_was_made(shareable, stream):
    buffer = anyplace.Buffer(stream, 4, shareable=True)
    handle = anyplace.ipc.export_buffer(buffer)
    with pytest.raises(anyplace.InvalidArgumentError):
        anyplace.ipc.import_buffer(stream, handle)
    with pytest.raises(anyplace.InvalidArgumentError):
        anyplace.ipc.import_buffer(stream, handle[:-1])
    with pytest.raises(anyplace.InvalidArgumentError):
        pickle.loads(pickle.dumps(buffer))
    with pytest.raises(TypeError, match="handle"):
        anyplace.ipc.import_event(shareable, 3)


@pytest.mark.thread_unsafe(reason="a global capture forbids calls of other threads")
def test_what_cant_be_pickled_says_why(device, stream):
    event = anyplace.Event(device)
    with pytest.raises(TypeError, match="cannot pickle this Event.*interprocess"):
        pickle.dumps(event)
    things = [
        (stream, "Stream"),
        (anyplace.HostBuffer(device, 4), "HostBuffer"),
        (anyplace.pinned_empty(4, stream=stream), "host"),
        (anyplace.Buffer(stream, 0), "Buffer"),
    ]
    with anyplace.Stream(device).capture() as graph:
        pass
    things.append((graph, "Graph"))
    if str(device) == "cpu_sim:0":
        numpy = pytest.importorskip("numpy")
        things.append((anyplace.from_dlpack(numpy.arange(3)), "host"))
    for thing, name in things:
        with pytest.raises(TypeError, match=f"cannot pickle.*{name}"):
            pickle.dumps(thing)
    assert pickle.loads(pickle.dumps(device)) == device
