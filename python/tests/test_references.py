# SPDX-License-Identifier: Apache-2.0
"""No call leaves references behind: what is done again and again ends with as many blocks of Python's memory."""

import asyncio
import contextlib
import gc
import pickle
import sys

import pytest

import anyplace
from anyplace.compat import cupy_cuda, torch_cuda

TIMES = 60


def streams_and_events(stream):
    own = anyplace.Stream(stream.device)
    event = own.record_event(timing=True)
    stream.wait_event(event)
    own.wait_stream(stream)
    with own:
        assert anyplace.current_stream(own.device) == own
    assert event.synchronize() and event.query() and repr(event) and event != own
    own.close()


def buffers(stream):
    buffer = anyplace.Buffer(stream, 256)
    part = buffer[8:16]
    stream.copy(buffer, bytes(256))
    stream.fill(part, 1)
    stream.fill(part, b"\1\2")
    host = bytearray(8)
    stream.copy(host, part)
    buffer.record_stream(anyplace.current_stream(stream.device))


def pinned_memory(stream):
    pinned = anyplace.HostBuffer(stream.device, 64)
    with memoryview(pinned) as view:
        assert len(view) == len(pinned) == pinned.__array_interface__["shape"][0]
    pinned.close()


def arrays(stream):
    array = anyplace.asarray([[1, 2], [3, 4]], "int32", stream=stream)
    assert array[:, ::-1].tolist() == [[2, 1], [4, 3]]
    assert array.reshape(4).shape == (4,) and array.permute((1, 0)).shape == (2, 2)
    assert repr(array) and array.stream == stream and array.device == stream.device and array[0, 0].item() == 1
    assert anyplace.pinned_empty(3, stream=stream).to_device(stream.device, stream=stream).device == stream.device


def dlpack(stream):
    array = anyplace.zeros(4, stream=stream)
    assert anyplace.from_dlpack(array.__dlpack__(max_version=(1, 0))).address == array.address
    assert anyplace.from_dlpack(array, stream=stream).address == array.address
    assert array.__dlpack__() and array.__dlpack_device__()  # a capsule that nobody takes


def graphs(stream):
    buffer = anyplace.Buffer(stream, 8)
    with stream.capture() as graph:
        stream.copy(buffer, b"anyplace")
        stream.launch_host_func(len, [1])
    graph.launch(stream)
    assert len(graph) and graph.to_dot()
    stream.synchronize()


def host_functions(stream):
    stream.launch_host_func(len, [1])
    stream.launch_host_func(len, 1)
    with contextlib.suppress(anyplace.StreamFault):
        stream.synchronize()


def bad_calls(stream):
    array = anyplace.zeros(4, stream=stream)
    for call in (
        lambda: anyplace.Device("nowhere:0"),
        lambda: anyplace.Buffer(stream, -1),
        lambda: anyplace.Buffer(stream, 1 << 60),
        lambda: anyplace.Buffer("stream", 8),
        lambda: stream.copy(3, b"1"),
        lambda: stream.copy(array, bytearray(1)),
        lambda: array[7],
        lambda: array.__dlpack__(dl_device=(7, 0)),
        lambda: anyplace.from_dlpack(3),
        lambda: pickle.dumps(stream),
    ):
        with pytest.raises((anyplace.Error, ValueError, TypeError, BufferError, IndexError)):
            call()


def figures(stream):
    device = stream.device
    assert anyplace.memory.stats(device) and anyplace.devices(device.backend) and device.memory_info()
    assert pickle.loads(pickle.dumps(device)) == device and anyplace.pointer_attributes(64)
    generator = anyplace.random.Generator(device)
    generator.manual_seed(3)
    generator.set_state(generator.get_state())
    with anyplace.annotate.range("work", payload=1):
        anyplace.annotate.mark("here")


LOOP = asyncio.new_event_loop()


def waiting(stream):
    async def wait():
        await stream
        await stream.record_event()

    LOOP.run_until_complete(wait())


def other_names(stream):
    with torch_cuda.stream(torch_cuda.Stream()):
        torch_cuda.current_stream().wait_event(torch_cuda.current_stream().record_event())
    with cupy_cuda.Stream() as other:
        other.record().synchronize()
    cupy_cuda.alloc(512).memset(1, 512)  # of the null stream: CuPy's pools keep something for each stream


OPERATIONS = (
    streams_and_events,
    buffers,
    pinned_memory,
    arrays,
    dlpack,
    graphs,
    host_functions,
    bad_calls,
    figures,
    waiting,
    other_names,
)


@pytest.mark.thread_unsafe(reason="counts what all threads have")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_nothing_keeps_a_reference(stream, operation):
    def blocks():
        for _ in range(TIMES):
            operation(stream)
        stream.synchronize()
        gc.collect()
        return sys.getallocatedblocks()

    before = blocks()
    for _ in range(10):  # caches fill, in the first steps
        after = blocks()
        if after - before < TIMES // 2:
            return
        before = after
    pytest.fail("each step leaves blocks behind: a call keeps a reference")
