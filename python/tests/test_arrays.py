# SPDX-License-Identifier: Apache-2.0
"""Array, DLPack both ways, random numbers, annotations, monitoring and the command."""

import gc

import pytest

import anyplace


@pytest.fixture
def numpy(place):
    if not place.startswith("cpu_sim"):
        pytest.skip("NumPy takes memory of the host")
    return pytest.importorskip("numpy")


def test_an_array_has_shape_and_parts(stream):
    array = anyplace.Array(stream, (2, 3), "int32")
    assert array.shape == (2, 3) and array.strides == (3, 1) and array.dtype == "int32"
    assert array.size == 6 and array.nbytes == 24 and array.ndim == 2 and len(array) == 2
    assert array[1].shape == (3,) and array[1].address == array.address + 12
    assert array[:, ::-1].strides == (3, -1) and array[:, 1:].shape == (2, 2) and array[0:0].shape == (0, 3)
    assert array.reshape([3, -1]).shape == (3, 2) and array.permute((1, 0)).strides == (1, 3)
    with pytest.raises(IndexError):
        array[2]
    with pytest.raises(IndexError):
        array[0, 0, 0]
    with pytest.raises(TypeError, match="index"):
        array["a"]
    with pytest.raises(ValueError, match="dtype"):
        anyplace.Array(stream, 3, "text")
    with pytest.raises(TypeError, match="shape"):
        anyplace.Array(stream, "3")


def test_numpy_takes_an_array_without_a_copy(stream, numpy):
    array = anyplace.Array(stream, (2, 3), "int32")
    stream.copy(array, numpy.arange(6, dtype="int32"))
    stream.synchronize()
    taken = numpy.from_dlpack(array)
    assert taken.tolist() == [[0, 1, 2], [3, 4, 5]] and taken.ctypes.data == array.address
    del array
    gc.collect()
    assert taken[1, 2] == 5


def test_an_array_of_numpys_is_taken_and_given_back(stream, numpy):
    source = numpy.arange(4, dtype="float64")
    array = anyplace.from_dlpack(source)
    assert array.shape == (4,) and array.dtype == "float64" and array.device is None
    assert array.address == source.ctypes.data
    onto = anyplace.Array(stream, 4, "float64")
    stream.copy(onto, array)
    back = bytearray(32)
    stream.copy(back, onto)
    stream.synchronize()
    assert back == source.tobytes()


def test_torch_exchanges_arrays(stream, place):
    if not place.startswith("cpu_sim"):
        pytest.skip("torch takes memory of its own backends")
    torch = pytest.importorskip("torch", exc_type=ImportError)
    array = anyplace.Array(stream, 4, "float32")
    stream.copy(array, bytes(16))
    stream.synchronize()
    tensor = torch.from_dlpack(array)
    tensor += 1
    assert anyplace.from_dlpack(tensor).address == array.address


def test_a_capsule_is_taken_once_and_let_go_if_never(stream, place):
    if not place.startswith("cpu_sim"):
        pytest.skip("a default stream for each device")
    array = anyplace.Array(stream, 4)
    used = anyplace.memory.allocated(place)
    capsule = array.__dlpack__(max_version=(1, 0))
    again = anyplace.from_dlpack(capsule)
    with pytest.raises(ValueError, match="once"):
        anyplace.from_dlpack(capsule)
    unused = array.__dlpack__()
    del array, again, capsule, unused
    gc.collect()
    assert anyplace.memory.allocated(place) < used


def test_what_dlpack_cant_do_is_a_buffer_error(stream):
    array = anyplace.Array(stream, 4)
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(12, 77))
    with pytest.raises(TypeError, match="__dlpack__"):
        anyplace.from_dlpack([1, 2])


def test_the_same_seed_gives_the_same_numbers(stream, device):
    import struct

    drawn = []
    for _ in range(2):
        generator = anyplace.random.Generator(device)
        generator.manual_seed(7)
        buffer = anyplace.Buffer(stream, 64)
        try:
            generator.uniform(stream, buffer)
        except anyplace.Error as error:
            if error.code == "invalid_image":
                pytest.skip(str(error))
            raise
        host = bytearray(64)
        stream.copy(host, buffer)
        stream.synchronize()
        drawn.append(bytes(host))
    assert drawn[0] == drawn[1] and all(0 <= each < 1 for each in struct.unpack("16f", drawn[0]))
    assert generator.offset > 0 and generator.initial_seed == 7
    other = generator.clone()
    state = generator.get_state()
    generator.integers(stream, buffer, 1, 6, dtype="int32")
    assert generator.offset > other.offset
    generator.set_state(state)
    assert generator.offset == other.offset
    with pytest.raises(ValueError, match="seed"):
        generator.manual_seed(-1)
    with pytest.raises(ValueError):
        generator.set_state(b"short")
    with pytest.raises(TypeError, match="target"):
        generator.normal(stream, bytearray(4))


def test_a_range_is_a_context_and_a_decorator():
    @anyplace.annotate.range("work", color=0xFF76B900, payload=3)
    def work(number):
        return number + 1

    with anyplace.annotate.range("outer", domain="tests"):
        assert work(1) == 2 and work.__name__ == "work"
    anyplace.annotate.mark("done", payload=1.5)
    with pytest.raises(TypeError, match="name"):
        anyplace.annotate.range(3)


def test_a_device_is_monitored(place):
    if not place.startswith("cpu_sim"):
        pytest.skip("as the vendor's library tells")
    monitor = anyplace.monitor.Monitor(place)
    sample = monitor.sample()
    assert sample["memory_total_bytes"] > 0 and sample["time"] > 0
    assert anyplace.monitor.sample(place).keys() == sample.keys()
