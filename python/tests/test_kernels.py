# SPDX-License-Identifier: Apache-2.0
"""Modules, kernels, what becomes of their arguments, and graphs. They need a compiler for the device."""

import ctypes
import struct
import weakref

import pytest

import anyplace

SOURCE = """
extern "C" __global__ void scale(float* numbers, float by) { numbers[blockIdx.x * blockDim.x + threadIdx.x] *= by; }
extern "C" __global__ void widths(double* out, long long whole, double fraction, bool yes) {
  out[0] = whole; out[1] = fraction; out[2] = yes;
}
struct Pair { int first, second; };
extern "C" __global__ void small(int* out, int a, unsigned char b, Pair pair) {
  out[0] = a; out[1] = b; out[2] = pair.first; out[3] = pair.second;
}
__device__ int answer = 42;
"""


@pytest.fixture(scope="module")
def module(place):
    try:
        return anyplace.Module.compile(place, SOURCE)
    except anyplace.Error as error:
        # There is no compiler, or the device is a double of a vendor's, which runs no kernels but its own.
        if error.code not in ("unsupported", "invalid_image"):
            raise
        pytest.skip(str(error))


@pytest.fixture
def numbers(stream):
    buffer = anyplace.Buffer(stream, 16)
    stream.copy(buffer, struct.pack("4f", 1, 2, 3, 4))
    return buffer


def read(stream, buffer, form):
    host = bytearray(buffer.nbytes)
    stream.copy(host, buffer)
    stream.synchronize()
    return struct.unpack(form, host)


def test_a_kernel_runs_over_grid_and_block(module, stream, numbers):
    scale = module.kernel("scale", ["pointer", "f32"])
    assert scale.name == "scale" and scale.device == stream.device
    scale[1, 4](stream, numbers, 10)
    scale[(2, 1), (2,)](stream, numbers, 10.0)
    stream.launch(scale, 1, 4, numbers, ctypes.c_float(0.5).value)
    assert read(stream, numbers, "4f") == (50, 100, 150, 200)


def test_arguments_go_by_their_python_types(module, stream):
    out = anyplace.Buffer(stream, 24)
    stream.launch(module.kernel("widths"), 1, 1, out, -7, 2.5, True)
    assert read(stream, out, "3d") == (-7, 2.5, 1)


def test_arguments_of_ctypes_and_numpy_are_passed_as_they_are(module, stream):
    class Pair(ctypes.Structure):
        _fields_ = [("first", ctypes.c_int), ("second", ctypes.c_int)]

    out = anyplace.Buffer(stream, 16)
    small = module.kernel("small")
    small[1, 1](stream, out, ctypes.c_int(-3), ctypes.c_ubyte(200), Pair(5, 6))
    assert read(stream, out, "4i") == (-3, 200, 5, 6)
    small[1, 1](stream, out, ctypes.c_int(-3), ctypes.c_ubyte(200), struct.pack("2i", 7, 8))
    assert read(stream, out, "4i") == (-3, 200, 7, 8)
    numpy = pytest.importorskip("numpy")
    small[1, 1](stream, out, numpy.int32(-4), numpy.uint8(9), Pair(5, 6))
    assert read(stream, out, "4i") == (-4, 9, 5, 6)


def test_bad_arguments_are_counted_and_named(module, stream, numbers):
    scale = module.kernel("scale", ["pointer", "f32"])
    small = module.kernel("small", ["pointer", "i32", "u8", "i64"])
    launches = [
        (TypeError, "argument 1", lambda: scale[1, 4](stream, numbers, "ten")),
        (TypeError, "argument 0", lambda: scale[1, 4](stream, 1.5, 10.0)),
        (TypeError, "declared with 2", lambda: scale[1, 4](stream, numbers)),
        (OverflowError, "argument 1.*i32", lambda: small[1, 1](stream, numbers, 1 << 31, 0, 0)),
        (OverflowError, "argument 2.*u8", lambda: small[1, 1](stream, numbers, 0, -1, 0)),
        (TypeError, "argument 1", lambda: module.kernel("scale")[1, 4](stream, numbers, object())),
        (TypeError, "argument 1.*memory of the host", lambda: module.kernel("scale")[1, 4](stream, numbers, bytearray(4))),
        (OverflowError, "argument 1", lambda: module.kernel("scale")[1, 4](stream, numbers, 1 << 64)),
        (ValueError, "grid", lambda: scale[-1, 4]),
        (OverflowError, "block", lambda: scale[1, 1 << 32]),
        (TypeError, "grid", lambda: scale[1.5, 4]),
        (TypeError, "kernel", lambda: scale[1, 4, 0, 0]),
        (ValueError, "argtypes", lambda: module.kernel("scale", ["float"])),
    ]
    for error, text, launch in launches:
        with pytest.raises(error, match=text):
            launch()
    with pytest.raises(ValueError):
        scale[0, 4](stream, numbers, 1.0)
    with pytest.raises(anyplace.Error) as caught:
        module.kernel("nothing")
    assert caught.value.code == "no_such_kernel"


def test_memory_that_is_closed_is_no_argument(module, device, stream):
    for memory in (anyplace.Buffer(stream, 16), anyplace.HostBuffer(device, 16)):
        memory.close()
        with pytest.raises(ValueError, match="argument 0.*closed"):
            module.kernel("widths")[1, 1](stream, memory, 0, 0.0, False)


def test_a_kernel_keeps_its_module(place, stream, numbers, module):
    mine = anyplace.Module.compile(place, SOURCE)
    scale = mine.kernel("scale", ["pointer", "f32"])
    mine.close()
    del mine
    scale[1, 4](stream, numbers, 2)
    assert read(stream, numbers, "4f") == (2, 4, 6, 8)


@pytest.mark.parametrize("captured", [False, True])
def test_memory_of_the_host_stays_until_the_kernel_that_it_was_given_is_done(module, place, stream, hold, captured):
    numpy = pytest.importorskip("numpy")
    if not place.startswith("cpu_sim"):
        pytest.skip("the double compiles nothing")
    source = numpy.ones(4, "float32")
    lent = weakref.ref(source)
    pinned = anyplace.HostRegistration(place, source.ctypes.data, source.nbytes)
    scale = module.kernel("scale", ["pointer", "f32"])
    if captured:
        with stream.capture("relaxed") as graph:
            scale[1, 4](stream, anyplace.from_dlpack(source), 2)
    gate = hold(stream)
    if captured:
        graph.launch(stream)
        del graph
    else:
        scale[1, 4](stream, anyplace.from_dlpack(source), 2)
    del source
    assert lent() is not None
    gate.set()
    stream.synchronize()
    pinned.close()
    assert lent() is None


def test_source_that_isnt_any_is_a_compile_error_with_the_log(place, module):
    with pytest.raises(anyplace.CompileError, match="undeclared_thing"):
        anyplace.Module.compile(place, 'extern "C" __global__ void f() { undeclared_thing(); }', cached=False)


def test_a_graph_is_captured_and_launched_again_and_again(module, stream, numbers):
    scale = module.kernel("scale", ["pointer", "f32"])
    with stream.capture() as graph:
        assert stream.is_capturing
        scale[1, 4](stream, numbers, 2)
        scale[1, 4](stream, numbers, 5)
    assert len(graph) == 2 and graph.device == stream.device and "scale" in graph.to_dot()
    for _ in range(2):
        graph.launch(stream)
    assert read(stream, numbers, "4f") == (100, 200, 300, 400)


@pytest.mark.thread_unsafe(reason="a stream is captured once at a time")
def test_a_graph_keeps_memory_of_the_host_that_it_copies(stream):
    buffer = anyplace.Buffer(stream, 4)
    with stream.capture() as graph:
        stream.copy(buffer, bytes(bytearray(b"kept")))
    graph.launch(stream)
    assert read(stream, buffer, "4s") == (b"kept",)


@pytest.mark.thread_unsafe(reason="a stream is captured once at a time")
def test_a_graph_calls_python_at_each_launch(stream):
    calls = []
    with stream.capture() as graph:
        stream.launch_host_func(calls.append, 1)
    graph.launch(stream)
    graph.launch(stream)
    stream.synchronize()
    assert calls == [1, 1]


@pytest.mark.thread_unsafe(reason="a stream is captured once at a time")
def test_an_exception_ends_the_capture_and_goes_on(stream):
    with pytest.raises(KeyError), stream.capture() as graph:
        raise KeyError
    assert not stream.is_capturing and len(graph) == 0
    with pytest.raises(anyplace.Error) as caught, stream.capture():
        stream.synchronize()
    assert caught.value.code == "capturing"
    assert stream.synchronize()
    with pytest.raises(ValueError, match="mode"):
        stream.capture("strict")
