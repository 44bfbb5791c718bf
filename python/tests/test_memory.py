# SPDX-License-Identifier: Apache-2.0
"""Buffer, HostBuffer, copies, pools and figures."""

import gc

import pytest

import anyplace
from anyplace import memory


def read(stream, buffer):
    host = bytearray(len(buffer))
    stream.copy(host, buffer)
    stream.synchronize()
    return bytes(host)


def test_bytes_go_to_a_buffer_and_back(stream):
    buffer = anyplace.Buffer(stream, 8)
    stream.copy(buffer, b"anyplace")
    assert read(stream, buffer) == b"anyplace"
    assert len(buffer) == buffer.nbytes == 8 and buffer.device == stream.device and buffer.address


def test_a_copy_keeps_memory_that_nobody_else_has(stream):
    buffer = anyplace.Buffer(stream, 1 << 20)
    for i in range(8):
        stream.copy(buffer, bytes([i]) * (1 << 20))
        gc.collect()
    assert read(stream, buffer) == bytes([7]) * (1 << 20)


def test_slices_share_the_memory(stream):
    buffer = anyplace.Buffer(stream, 16)
    stream.fill(buffer, 0)
    part = buffer[4:8]
    stream.fill(part, 0xFF)
    assert read(stream, buffer) == bytes(4) + b"\xff" * 4 + bytes(8)
    buffer.close()
    assert read(stream, part) == b"\xff" * 4
    with pytest.raises(anyplace.ClosedError):
        _ = buffer.address or buffer.device
    with pytest.raises(ValueError, match="slice"):
        part[::2]


def test_fill_repeats_a_pattern(stream):
    buffer = anyplace.Buffer(stream, 12)
    stream.fill(buffer, b"\x01\x02\x03\x04")
    assert read(stream, buffer) == b"\x01\x02\x03\x04" * 3
    with pytest.raises(ValueError, match="value"):
        stream.fill(buffer, 256)
    with pytest.raises(ValueError):
        stream.fill(buffer, b"123")


def test_pinned_memory_is_lent_and_isnt_closed_meanwhile(device, stream):
    pinned = anyplace.HostBuffer(device, 4)
    view = memoryview(pinned)
    view[:] = b"abcd"
    with pytest.raises(BufferError):
        pinned.close()
    view.release()
    buffer = anyplace.Buffer(stream, 4)
    stream.copy(buffer, pinned)
    pinned.close()
    assert read(stream, buffer) == b"abcd"
    with pytest.raises(ValueError, match="closed"):
        _ = pinned.nbytes


def test_memory_of_the_simulator_is_lent(place):
    if not place.startswith("cpu_sim"):
        pytest.skip("the host doesn't reach it")
    numpy = pytest.importorskip("numpy")
    stream = anyplace.Stream(place)
    buffer = anyplace.Buffer(stream, 4)
    stream.fill(buffer, 5)
    stream.synchronize()
    array = numpy.asarray(buffer)
    assert array.dtype == numpy.uint8 and array.tolist() == [5] * 4
    array[1] = 9
    assert bytes(memoryview(buffer)) == b"\x05\x09\x05\x05"


def test_memory_of_a_gpu_isnt_lent(place):
    if place.startswith("cpu_sim"):
        pytest.skip("the host reaches it")
    buffer = anyplace.Buffer(anyplace.Stream(place), 4)
    with pytest.raises(BufferError, match="isn't reached by the host"):
        memoryview(buffer)
    assert not hasattr(buffer, "__array_interface__")


@pytest.mark.parametrize(
    ("nbytes", "error"), [(-1, ValueError), (1 << 64, OverflowError), (1.5, TypeError), ("8", TypeError), (None, TypeError)]
)
def test_a_bad_size_is_named(stream, device, nbytes, error):
    for make in (lambda: anyplace.Buffer(stream, nbytes), lambda: anyplace.HostBuffer(device, nbytes)):
        with pytest.raises(error, match="nbytes"):
            make()


def test_bad_sides_of_a_copy_are_named(stream):
    buffer = anyplace.Buffer(stream, 4)
    with pytest.raises(TypeError, match="source"):
        stream.copy(buffer, 3)
    with pytest.raises(BufferError):
        stream.copy(b"abcd", buffer)
    with pytest.raises(ValueError):
        stream.copy(buffer, b"abc")
    with pytest.raises(ValueError, match="kind"):
        anyplace.Buffer(stream, 4, kind="soft")


def test_what_doesnt_fit_is_out_of_memory_with_the_figures(stream):
    with pytest.raises(MemoryError) as caught:
        anyplace.Buffer(stream, 1 << 60)
    assert isinstance(caught.value, anyplace.OutOfMemoryError)
    assert caught.value.memory["requested"] >= 1 << 60


@pytest.mark.thread_unsafe(reason="what it looks at is the process's")
def test_the_figures_follow_the_buffers(device, stream):
    before = memory.allocated(device)
    buffer = anyplace.Buffer(stream, 1 << 16)
    assert memory.allocated(device) == before + (1 << 16)
    stats = memory.stats(device)
    assert stats["allocated_bytes.all.current"] >= 1 << 16 and stats["allocated_bytes.all.peak"] >= 1 << 16
    assert memory.max_allocated(device) >= 1 << 16 and memory.reserved(device) >= 1 << 16
    buffer.close()
    assert memory.allocated(device) == before
    memory.reset_peak_stats(device)
    memory.empty_cache(device)
    assert "Allocated" in memory.summary(device) and memory.snapshot(device, format="json").startswith(b"{")


def test_a_pool_has_memory_of_its_own(device, stream):
    pool = anyplace.MemoryPool(device)
    with pool:
        inside = anyplace.Buffer(stream, 1 << 16)
    outside = anyplace.Buffer(stream, 1 << 16)
    assert pool.allocated_bytes == 1 << 16
    inside.close()
    outside.close()
    stream.synchronize()
    pool.release_free()
    with pytest.raises(MemoryError), anyplace.MemoryPool(device, limit_bytes=1 << 12):
        anyplace.Buffer(stream, 1 << 26)
