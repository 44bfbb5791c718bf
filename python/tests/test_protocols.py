# SPDX-License-Identifier: Apache-2.0
"""What other libraries ask arrays for: DLPack, the array interfaces, to_device; with NumPy, torch and JAX."""

import gc
import threading

import pytest

import anyplace


@pytest.fixture
def simulated(place):
    if not place.startswith("cpu_sim"):
        pytest.skip("the host doesn't reach the memory")
    return place


def test_numpy_takes_memory_that_the_host_reaches_without_a_copy(simulated, stream):
    numpy = pytest.importorskip("numpy")
    array = anyplace.asarray([[1, 2, 3], [4, 5, 6]], "int32", stream=stream)
    taken = numpy.asarray(array[:, ::-1])
    assert taken.tolist() == [[3, 2, 1], [6, 5, 4]] and taken.dtype == "int32"
    taken[0, 0] = 9
    assert array.tolist() == [[1, 2, 9], [4, 5, 6]]
    address = array.address
    del array
    gc.collect()
    assert taken[:, ::-1].ctypes.data == address and taken[1, 2] == 4
    with pytest.raises(AttributeError, match="bfloat16"):
        _ = anyplace.empty(2, "bfloat16", stream=stream).__array_interface__


def test_numpy_takes_pinned_memory_of_any_device(stream):
    numpy = pytest.importorskip("numpy")
    pinned = anyplace.pinned_empty((2, 2), "float64", stream=stream)
    view = numpy.asarray(pinned)
    view[:] = [[1, 2], [3, 4]]
    assert anyplace.asarray(pinned, device=stream.device).tolist() == [[1, 2], [3, 4]]
    assert pinned.tolist() == [[1, 2], [3, 4]]


def test_memory_of_a_gpu_has_no_array_interface(place, stream):
    if place.startswith("cpu_sim"):
        pytest.skip("the host reaches it")
    assert not hasattr(anyplace.zeros(2, stream=stream), "__array_interface__")


def test_cuda_array_interface_is_cudas_alone(device, stream):
    array = anyplace.zeros((2, 3), "float32", stream=stream)
    if device.backend != "cuda":
        assert not hasattr(array, "__cuda_array_interface__")
        return
    interface = array.__cuda_array_interface__
    assert interface["shape"] == (2, 3) and interface["typestr"] == "<f4" and interface["version"] == 3
    assert interface["data"] == (array.address, False) and interface["strides"] is None
    assert interface["stream"] == stream.native_handle()
    assert array[:, ::2].__cuda_array_interface__["strides"] == (12, 8)
    assert anyplace.zeros(2, device=device).__cuda_array_interface__["stream"] == 1

    class Foreign:
        """An array of a library that knows this protocol alone."""

        def __init__(self, **changed):
            self.__cuda_array_interface__ = {**interface, **changed}

    foreign = Foreign()
    taken = anyplace.asarray(foreign, stream=stream)
    assert taken.address == array.address and taken.shape == (2, 3) and taken.tolist() == [[0] * 3] * 2
    assert anyplace.asarray(Foreign(strides=(12, 8), shape=(2, 2)), stream=stream).strides == (3, 2)
    with pytest.raises(ValueError, match="stream"):
        anyplace.asarray(Foreign(stream=0), stream=stream)
    with pytest.raises(TypeError, match="typestr|elements"):
        anyplace.asarray(Foreign(typestr=">f4"), stream=stream)
    with pytest.raises(TypeError, match="mask"):
        anyplace.asarray(Foreign(mask=foreign), stream=stream)
    with pytest.raises(ValueError, match="strides"):
        anyplace.asarray(Foreign(strides=(12, 3), shape=(2, 2)), stream=stream)


@pytest.mark.parametrize("number", [-2, 0, 1, 2])
def test_dlpacks_streams_are_those_of_the_device(device, stream, number):
    array = anyplace.zeros(2, stream=stream)
    taken = {"cuda": (1, 2), "hip": (0,)}.get(device.backend, ())
    if number in taken:
        assert anyplace.from_dlpack(array.__dlpack__(stream=number, max_version=(1, 0))).address == array.address
    else:
        with pytest.raises((BufferError, ValueError), match="stream"):
            array.__dlpack__(stream=number)


def test_dlpack_without_a_wait_and_for_the_default_stream(stream):
    array = anyplace.zeros(2, stream=stream)
    for number in (-1, None):
        assert anyplace.from_dlpack(array.__dlpack__(stream=number)).address == array.address


def test_dlpack_gives_the_host_a_copy(stream, simulated_or_not):
    array = anyplace.asarray([[1, 2], [3, 4]], "int16", stream=stream)[:, ::-1]
    given = anyplace.from_dlpack(array.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
    if simulated_or_not:
        assert given.address == array.address
        return
    assert given.device is None
    assert anyplace.asarray(given, stream=stream).tolist() == [[2, 1], [4, 3]]
    with pytest.raises(BufferError, match="copy"):
        array.__dlpack__(dl_device=(1, 0), copy=False)


@pytest.fixture
def simulated_or_not(place):
    return place.startswith("cpu_sim")


def test_dlpack_copies_when_it_is_asked_to(stream, place):
    array = anyplace.asarray([1, 2, 3, 4], "int16", stream=stream)
    copied = anyplace.from_dlpack(array[::2].__dlpack__(copy=True, max_version=(1, 0)))
    assert copied.address != array.address and copied.is_contiguous
    assert anyplace.from_dlpack(array.__dlpack__(copy=False)).address == array.address
    numpy = pytest.importorskip("numpy")
    foreign = anyplace.from_dlpack(numpy.arange(6, dtype="int32").reshape(2, 3)[:, ::2])
    again = anyplace.from_dlpack(foreign.__dlpack__(copy=True, max_version=(1, 0)))
    assert again.shape == (2, 2) and again.is_contiguous
    assert anyplace.asarray(again, stream=stream).tolist() == [[0, 2], [3, 5]]
    with pytest.raises(BufferError, match="dl_device"):
        foreign.__dlpack__(dl_device=(2, 0))


def test_what_is_read_only_stays_so(stream):
    numpy = pytest.importorskip("numpy")
    source = numpy.arange(3, dtype="float32")
    source.flags.writeable = False
    array = anyplace.from_dlpack(source)
    assert array.is_read_only
    with pytest.raises(BufferError, match="read-only"):
        array.__dlpack__()
    assert array.__dlpack__(copy=True)
    with pytest.raises(ValueError, match="read"):
        stream.copy(array, bytes(12))


def test_to_device_copies_only_where_it_has_to(device, stream):
    array = anyplace.asarray([1.0, 2.0], stream=stream)
    assert array.to_device(device) is array and array.to_device(str(device), stream=stream) is array
    others = [each for each in anyplace.devices(device.backend) if each != device]
    if others:
        moved = array.to_device(others[0])
        assert moved.device == others[0] and moved.tolist() == [1, 2]
        own = anyplace.Stream(others[0])
        assert array.to_device(others[0], stream=own).stream == own
        with pytest.raises(ValueError, match="stream"):
            array.to_device(others[0], stream=stream)
    pinned = anyplace.pinned_empty(2, "float64", stream=stream)
    stream.copy(pinned, array)
    assert pinned.to_device(device, stream=stream).tolist() == [1, 2]


def test_to_device_has_read_memory_of_the_host_when_it_returns(device, stream, hold):
    """No stream orders what the memory's owner writes next. Copies between devices don't wait."""
    numpy = pytest.importorskip("numpy")
    source = numpy.arange(4, dtype="int32")
    gate = hold(stream)
    threading.Timer(0.05, gate.set).start()
    moved = anyplace.from_dlpack(source).to_device(device, stream=stream)
    source[:] = 9
    assert moved.tolist() == [0, 1, 2, 3]
    others = [each for each in anyplace.devices(device.backend) if each != device]
    if others and device.backend == "cpu_sim":  # another vendor's driver may wait in a copy between devices
        gate = hold(stream)
        again = moved.to_device(others[0])
        assert not again.stream.query()
        gate.set()
        assert again.tolist() == [0, 1, 2, 3]


def test_torch_and_arrays_of_the_simulator_share_memory(simulated, stream):
    torch = pytest.importorskip("torch", exc_type=ImportError)
    array = anyplace.asarray([[1.0, 2.0], [3.0, 4.0]], "float32", stream=stream)
    tensor = torch.from_dlpack(array)
    assert tensor.data_ptr() == array.address and tensor.tolist() == [[1, 2], [3, 4]]
    tensor += 1
    assert array.tolist() == [[2, 3], [4, 5]]
    back = anyplace.from_dlpack(tensor.t())
    assert back.address == array.address and back.strides == (1, 2) and str(back.device) == simulated
    theirs = anyplace.asarray(torch.arange(3), device=stream.device)
    assert theirs.dtype == "int64" and theirs.tolist() == [0, 1, 2]


def test_jax_and_arrays_of_the_simulator_share_memory(simulated, stream):
    jax = pytest.importorskip("jax", exc_type=ImportError)
    array = anyplace.asarray([1.0, 2.0, 3.0], "float32", stream=stream)
    taken = jax.dlpack.from_dlpack(array)
    assert taken.tolist() == [1, 2, 3] and taken.unsafe_buffer_pointer() == array.address
    made = jax.numpy.arange(4, dtype="float32") * 2
    back = anyplace.from_dlpack(made)
    assert back.address == made.unsafe_buffer_pointer()
    assert anyplace.asarray(back, stream=stream).tolist() == [0, 2, 4, 6]
