# SPDX-License-Identifier: Apache-2.0
"""What goes by numbers: addresses, captures of two calls, foreign memory and events."""

import ctypes
import threading

import pytest

import anyplace


def address_of(memory):
    return ctypes.addressof(memory)


def test_copies_and_fills_go_by_address(stream):
    data = anyplace.Buffer(stream, 16)
    host = (ctypes.c_ubyte * 16)()
    stream.fill_address(data.address, b"\1\2", 16)
    stream.fill_address(data.address + 4, b"\7", 4)
    stream.copy_address(address_of(host), data.address, 16)
    stream.synchronize()
    assert bytes(host) == b"\1\2\1\2\7\7\7\7" + b"\1\2" * 4
    stream.copy_address(0, 0, 0)


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda stream, data: stream.copy_address(-1, data.address, 4), ValueError),
        (lambda stream, data: stream.copy_address("0", data.address, 4), TypeError),
        (lambda stream, data: stream.copy_address(data.address, data.address, 17), ValueError),
        (lambda stream, data: stream.copy_address(1 << 64, data.address, 4), OverflowError),
        (lambda stream, data: stream.fill_address(data.address, b"abc", 9), ValueError),
        (lambda stream, data: stream.fill_address(data.address, b"ab", 3), ValueError),
        (lambda stream, data: stream.fill_address(data.address, b"", 4), ValueError),
        (lambda stream, data: stream.fill_address(data.address, 1, 4), TypeError),
        (lambda stream, data: stream.begin_capture("loud"), ValueError),
        (lambda stream, data: stream.device.default_stream.begin_capture(), ValueError),
        (lambda stream, data: anyplace.Buffer.from_external(stream.device, 0, 8), ValueError),
        (lambda stream, data: anyplace.set_allocator(stream.device, 3), TypeError),
    ],
)
def test_bad_numbers_are_refused(stream, use, error):
    with pytest.raises(error):
        use(stream, anyplace.Buffer(stream, 16))


def test_an_address_is_looked_up(device, stream):
    data = anyplace.Buffer(stream, 256)
    known = anyplace.pointer_attributes(data.address + 8)
    assert known["kind"] == "device" and known["device"] == device
    assert known["allocation"] == data.address and known["offset"] == 8 and known["size_bytes"] == 256
    assert anyplace.pointer_attributes(anyplace.HostBuffer(device, 8).address)["kind"] in ("pinned", "unknown")
    held = (ctypes.c_ubyte * 8)()
    assert anyplace.pointer_attributes(address_of(held)) == {
        "kind": "unknown",
        "device": None,
        "allocation": 0,
        "size_bytes": 0,
        "offset": 0,
    }


def test_memory_of_the_host_is_pinned_where_it_is(device):
    if not device.has("host_register"):
        pytest.skip("the device can't")
    held = (ctypes.c_ubyte * 8192)()
    registration = anyplace.HostRegistration(device, address_of(held), 8192)
    assert anyplace.pointer_attributes(address_of(held))["kind"] == "registered"
    registration.close()
    registration.close()
    assert anyplace.pointer_attributes(address_of(held))["kind"] == "unknown"


@pytest.mark.thread_unsafe(reason="a stream is captured once at a time")
def test_a_capture_is_begun_and_ended_by_two_calls(device, stream):
    assert stream.capture_status == "none"
    pool, called = anyplace.GraphPool(device), []
    stream.begin_capture("relaxed", pool)
    assert stream.capture_status == "active" and stream.is_capturing
    buffer = anyplace.Buffer(stream, 64)
    assert pool.reserved_bytes >= 64
    stream.copy(buffer, b"x" * 64)  # the graph keeps the bytes
    stream.launch_host_func(called.append, 1)
    graph = stream.end_capture()
    assert isinstance(graph, anyplace.Graph) and len(graph) == 2 and called == []
    graph.launch(stream)
    graph.launch(stream)
    stream.synchronize()
    assert called == [1, 1]


@pytest.mark.thread_unsafe(reason="a stream is captured once at a time")
def test_a_capture_that_is_invalid_says_so_at_its_end(stream):
    stream.begin_capture()
    with pytest.raises(anyplace.Error) as caught:
        stream.synchronize()
    assert caught.value.code == "capturing" and stream.capture_status == "invalidated"
    with pytest.raises(anyplace.Error) as caught:
        stream.end_capture()
    assert caught.value.code == "capture_invalidated" and stream.capture_status == "none"
    stream.synchronize()


@pytest.mark.thread_unsafe(reason="a stream is captured once at a time")
def test_external_events_are_nodes_of_a_graph(device, stream):
    recorded, waited = anyplace.Event(device), anyplace.Event(device)
    stream.begin_capture()
    stream.wait_external_event(waited)
    stream.record_external_event(recorded)
    graph = stream.end_capture()
    assert len(graph) == 2
    gate, other = threading.Event(), anyplace.Stream(device)
    other.launch_host_func(gate.wait, 60)
    waited.record(other)
    graph.launch(stream)
    assert not recorded.query()
    gate.set()
    recorded.synchronize()
    assert recorded.query()


def test_foreign_memory_is_wrapped(device, stream):
    own = anyplace.Buffer(stream, 64)
    borrowed = anyplace.Buffer.from_external(device, own.address, 32)
    assert borrowed.address == own.address and borrowed.nbytes == 32
    stream.fill(borrowed, 3)
    host = bytearray(64)
    stream.copy(host, own)
    stream.synchronize()
    assert host[:32] == b"\3" * 32
    borrowed.close()
    assert anyplace.pointer_attributes(own.address)["kind"] == "device"


def test_foreign_events_are_wrapped(device, stream):
    event = anyplace.Event(device, timing=True)
    event.record(stream)
    event.synchronize()
    assert event.id != anyplace.Event(device).id
    if device.has("event_from_native") and device.has("native_handles"):
        other = anyplace.Event.from_external(event.native_handle(), device, timing=True)
        other.synchronize()
        assert other.query() and other != event


def test_streams_have_numbers_that_are_never_used_again(device):
    numbers = {anyplace.Stream(device).id for _ in range(20)}
    assert len(numbers) == 20 and 0 not in numbers


def test_an_allocator_is_put_in_and_taken_out(device, stream):
    former = anyplace.set_allocator(device, anyplace.Allocator.raw(device))
    try:
        assert anyplace.Buffer(stream, 64).address != 0
    finally:
        anyplace.set_allocator(device, former)
    anyplace.set_allocator(device, None)
    anyplace.set_allocator(device, anyplace.Allocator.caching(device))
    anyplace.set_allocator(device, None)


def test_the_processes_of_a_device_are_listed(device):
    if not device.has("list_processes"):
        with pytest.raises(NotImplementedError):
            device.processes()
        return
    for each in device.processes():
        assert each["id"] > 0 and isinstance(each["name"], str)
