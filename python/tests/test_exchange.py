# SPDX-License-Identifier: Apache-2.0
"""__dlpack_c_exchange_api__ both ways, by ctypes as the other library; copy= and device= of from_dlpack; Buffers."""

import ctypes
import gc
import threading

import pytest

import anyplace


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


# PYFUNCTYPE keeps the GIL and raises Python's error after the call; CFUNCTYPE releases the GIL, as other libraries do.
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
Allocate = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.POINTER(Managed)), ctypes.c_void_p, SetError
)
FromPython = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Managed)))
ToPython = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Managed), ctypes.POINTER(ctypes.py_object))
ViewOf = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
CurrentStream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p),
        ("allocate", Allocate),
        ("from_python", FromPython),
        ("to_python", ToPython),
        ("view_of", ViewOf),
        ("current_stream", CurrentStream),
    ]


NAME = b"dlpack_exchange_api"
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


@pytest.fixture(params=["Array", "Buffer"])
def table(request):
    kind = getattr(anyplace, request.param)
    return Table.from_address(_pointer(kind.__dlpack_c_exchange_api__, NAME))


@pytest.fixture
def reads(place):
    """Whether DLPack takes the device's memory for the host's."""
    return place.startswith("cpu_sim")


def take(table, thing):
    managed = ctypes.POINTER(Managed)()
    assert table.from_python(thing, ctypes.byref(managed)) == 0
    return managed


def delete(managed):
    Deleter(managed.contents.deleter)(ctypes.addressof(managed.contents))


def back(table, managed):
    made = ctypes.py_object()
    assert table.to_python(managed, ctypes.byref(made)) == 0
    array = made.value
    ctypes.pythonapi.Py_DecRef(made)  # the reference that the function gave
    return array


def test_the_table_describes_arrays_and_buffers(table, stream):
    assert (table.major, table.minor, table.older) == (1, 3, None)
    array = anyplace.asarray([[1, 2, 3], [4, 5, 6]], "int16", stream=stream)[:, ::-1]
    seen = Tensor()
    with stream:
        assert table.view_of(array, ctypes.byref(seen)) == 0
    assert (seen.data, seen.byte_offset, seen.code, seen.bits, seen.lanes) == (array.address, 0, 0, 16, 1)
    assert (seen.shape[:2], seen.strides[:2]) == ([2, 3], [3, -1])
    assert (seen.device_type, seen.device_id) == array.__dlpack_device__()
    buffer = anyplace.Buffer(stream, 40)
    assert table.view_of(buffer[8:24], ctypes.byref(seen)) == 0
    assert (seen.data, seen.ndim, seen.shape[0], seen.strides[0]) == (buffer.address + 8, 1, 16, 1)
    assert (seen.code, seen.bits) == (1, 8)
    with pytest.raises((TypeError, BufferError), match="neither"):
        table.view_of([1, 2], ctypes.byref(seen))
    buffer.close()
    with pytest.raises(BufferError, match="closed"):
        table.view_of(buffer, ctypes.byref(seen))


def test_a_tensor_keeps_the_memory_until_its_deleter_is_called_without_the_gil(table, stream, device):
    gc.collect()
    array = anyplace.zeros(1000, stream=stream)
    used = anyplace.memory.allocated(device)
    managed = take(table, array)
    assert managed.contents.tensor.data == array.address and managed.contents.flags == 0
    del array
    gc.collect()
    assert anyplace.memory.allocated(device) == used
    delete(managed)
    assert anyplace.memory.allocated(device) < used


def test_what_is_taken_comes_back_as_an_array(table, stream, place):
    array = anyplace.asarray([1.0, 2.0], "float32", stream=stream)
    with stream:
        again = back(table, take(table, array))
    assert isinstance(again, anyplace.Array) and again.address == array.address and again.stream == stream
    assert again.tolist() == [1, 2] and str(again.device) == place
    numpy = pytest.importorskip("numpy")
    fixed = numpy.arange(3)
    fixed.flags.writeable = False
    fixed = back(table, take(table, anyplace.from_dlpack(fixed)))
    assert fixed.is_read_only and fixed.device is None


def test_an_array_is_made_like_a_prototype(table, stream, place, reads):
    shape = (ctypes.c_int64 * 2)(3, 5)
    kind, index = anyplace.zeros(1, stream=stream).__dlpack_device__()
    prototype = Tensor(device_type=kind, device_id=index, ndim=2, code=2, bits=32, lanes=1, shape=shape)
    managed = ctypes.POINTER(Managed)()
    said = []
    tell = SetError(lambda _, kind, text: said.append((kind, text)))
    with stream:
        assert table.allocate(prototype, ctypes.byref(managed), None, tell) == 0
        made = back(table, managed)
    assert (made.shape, made.dtype, said) == ((3, 5), "float32", [])
    assert (made.device is None) if reads else (str(made.device) == place and made.stream == stream)
    for bad, text in ((dict(code=17, bits=4), b"float4"), (dict(device_type=7), b"device type")):
        for name, value in bad.items():
            setattr(prototype, name, value)
        assert table.allocate(prototype, ctypes.byref(managed), None, tell) == -1
        assert said[-1][0] == b"BufferError" and text in said[-1][1]
        prototype.code, prototype.bits = 2, 32


def test_the_current_stream_is_told(table, stream, device, reads):
    kind, index = anyplace.zeros(1, stream=stream).__dlpack_device__()
    found = ctypes.c_void_p(1)
    assert table.current_stream(kind, index, ctypes.byref(found)) == 0 and found.value is None
    with stream:
        table.current_stream(kind, index, ctypes.byref(found))
    assert found.value == (None if reads else stream.native_handle())
    with pytest.raises(BufferError, match="device type"):
        table.current_stream(7, 0, ctypes.byref(found))


def test_a_consumer_on_the_current_stream_comes_after_the_arrays_own(table, device, reads, hold):
    first, second = anyplace.Stream(device), anyplace.Stream(device)
    array = anyplace.zeros(4, "uint8", stream=first)
    gate = hold(first)
    first.copy(array, b"\5\5\5\5")
    if reads:  # the consumer has no stream, so the host waits
        threading.Timer(0.05, gate.set).start()
        delete(take(table, array))
        assert ctypes.string_at(array.address, 4) == b"\5\5\5\5"
        return
    with second:
        managed = take(table, array)
        assert not second.query()
    gate.set()
    second.synchronize()
    delete(managed)


def test_another_types_table_is_used_before_its_capsules(device, stream, reads, hold):
    """Its current stream is waited for; a table of an unknown version is left alone."""
    own = Table.from_address(_pointer(anyplace.Array.__dlpack_c_exchange_api__, NAME))
    foreign = anyplace.Stream(device)
    lent = anyplace.zeros(4, stream=foreign)

    @FromPython
    def from_python(thing, out):
        return own.from_python(lent, out)

    @CurrentStream
    def current(kind, index, out):
        out[0] = None if reads else foreign.native_handle()
        return 0

    given = Table(1, 3, None, own.allocate, from_python, own.to_python, own.view_of, current)

    class Foreign:
        __dlpack_c_exchange_api__ = _capsule(ctypes.addressof(given), NAME, None)

        def __dlpack_device__(self):
            return lent.__dlpack_device__()

        def __dlpack__(self, **options):
            self.asked = options
            return lent.__dlpack__(**options)

    thing = Foreign()
    gate = None if reads else hold(foreign)
    with foreign:  # the stream of the producer is its current one, whatever this library's is
        taken = anyplace.from_dlpack(thing, stream=stream)
    assert taken.address == lent.address and not hasattr(thing, "asked")
    if gate:
        assert not stream.query()
        gate.set()
    given.major = 2
    assert anyplace.from_dlpack(thing, stream=stream).address == lent.address
    assert thing.asked["max_version"] == (1, 3)


def test_torchs_tensors_go_by_the_table_both_ways(reads, stream):
    if not reads:
        pytest.skip("torch takes memory of its own backends")
    torch = pytest.importorskip("torch", exc_type=ImportError)
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch is older than the table")
    tensor = torch.arange(6, dtype=torch.int32).reshape(2, 3).t()
    array = anyplace.from_dlpack(tensor)
    assert array.address == tensor.data_ptr() and array.strides == (1, 3) and array.device is None
    theirs = Table.from_address(_pointer(torch.Tensor.__dlpack_c_exchange_api__, NAME))
    ours = Table.from_address(_pointer(anyplace.Array.__dlpack_c_exchange_api__, NAME))
    own = anyplace.asarray([1, 2, 3], "int64", stream=stream)
    made = back(theirs, take(ours, own))
    assert isinstance(made, torch.Tensor) and made.data_ptr() == own.address and made.tolist() == [1, 2, 3]


# -- copy= and device= by the array API's rules.


def test_copy_says_whether_there_is_one(stream, device):
    array = anyplace.asarray([1, 2, 3], "int32", stream=stream)
    for never in (None, False):
        assert anyplace.from_dlpack(array, copy=never).address == array.address
        assert anyplace.from_dlpack(array, copy=never, device=device).address == array.address
    copied = anyplace.from_dlpack(array, copy=True)
    assert copied.address != array.address and copied.tolist() == [1, 2, 3] and copied.device == device


def test_memory_of_the_host_is_copied_to_the_device_asked_for(device, stream):
    numpy = pytest.importorskip("numpy")
    source = numpy.arange(4, dtype="int32")
    with pytest.raises(BufferError, match="copy"):
        anyplace.from_dlpack(source, device=device, copy=False)
    moved = anyplace.from_dlpack(source, device=device, stream=stream)
    source[:] = 0  # it was read before
    assert moved.device == device and moved.stream == stream and moved.tolist() == [0, 1, 2, 3]
    plain = anyplace.from_dlpack(source, copy=True)
    assert plain.device is None and plain.address != source.ctypes.data


def test_an_array_of_another_device_is_copied(device, stream):
    others = [each for each in anyplace.devices(device.backend) if each != device]
    if not others:
        pytest.skip("there is one device")
    array = anyplace.asarray([1, 2], "int16", stream=stream)
    moved = anyplace.from_dlpack(array, device=others[0])
    assert moved.device == others[0] and moved.tolist() == [1, 2]
    with pytest.raises(BufferError, match="copy"):
        anyplace.from_dlpack(array, device=others[0], copy=False)


def test_a_copy_of_what_is_read_only_may_be_written(stream):
    numpy = pytest.importorskip("numpy")
    source = numpy.arange(3)
    source.flags.writeable = False
    assert anyplace.from_dlpack(source).is_read_only and not anyplace.from_dlpack(source, copy=True).is_read_only
    array = anyplace.from_dlpack(source)
    assert not numpy.from_dlpack(array).flags.writeable and numpy.from_dlpack(array, copy=True).flags.writeable


def test_a_buffer_is_an_array_of_bytes(stream, reads):
    buffer = anyplace.Buffer(stream, 6)
    stream.fill(buffer, 3)
    with stream:
        array = anyplace.from_dlpack(buffer[2:])
    assert (array.shape, array.dtype, array.address) == ((4,), "uint8", buffer.address + 2)
    assert array.tolist() == [3] * 4
    numpy = pytest.importorskip("numpy")
    if reads:
        with stream:
            assert numpy.from_dlpack(buffer).tolist() == [3] * 6


# -- Capsules of nobody's.


class Capsule:
    """A producer whose capsule has whatever the test wants."""

    def __init__(self, **changes):
        self.data = (ctypes.c_float * 2)(1, 2)
        self.shape = (ctypes.c_int64 * 1)(2)
        self.deleted = 0
        self.deleter = Deleter(self.delete)
        self.managed = Managed(1, 0, None, ctypes.cast(self.deleter, ctypes.c_void_p), 0)
        tensor = self.managed.tensor
        tensor.data, tensor.device_type, tensor.ndim = ctypes.addressof(self.data), 1, 1
        tensor.code, tensor.bits, tensor.lanes, tensor.shape = 2, 32, 1, self.shape
        for name, value in changes.items():
            setattr(self.managed if hasattr(self.managed, name) else tensor, name, value)

    def delete(self, _):
        self.deleted += 1

    def __dlpack_device__(self):
        return self.managed.tensor.device_type, self.managed.tensor.device_id

    def __dlpack__(self, *, stream=None, max_version=None):
        return _capsule(ctypes.addressof(self.managed), b"dltensor_versioned", None)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (dict(device_type=7), "device type 7"),
        (dict(device_type=12), "kDLExtDev"),
        (dict(code=8, bits=8), "float8_e4m3"),
        (dict(lanes=4), "lanes"),
        (dict(major=2), "DLPack 2"),
        (dict(byte_offset=1), "align|multiple"),
    ],
)
def test_a_tensor_that_isnt_known_is_refused_with_the_reason_and_let_go(changes, text):
    producer = Capsule(**changes)
    with pytest.raises((ValueError, BufferError), match=text):
        anyplace.from_dlpack(producer)
    assert producer.deleted == 1


def test_a_foreign_tensor_is_let_go_once():
    producer = Capsule(flags=1)
    array = anyplace.from_dlpack(producer)
    assert array.is_read_only and array.device is None and producer.deleted == 0
    part = array[1:]
    del array
    gc.collect()
    assert producer.deleted == 0
    del part
    gc.collect()
    assert producer.deleted == 1


def test_a_copy_keeps_a_foreign_tensor_of_the_hosts_until_it_is_done(stream, reads, hold):
    if not reads:
        pytest.skip("a copy of memory that isn't pinned may wait")
    source, target = Capsule(), Capsule()
    buffer = anyplace.Buffer(stream, 8)
    gate = hold(stream)
    stream.copy(buffer, anyplace.from_dlpack(source))
    stream.copy(anyplace.from_dlpack(target), buffer)
    gc.collect()
    assert (source.deleted, target.deleted) == (0, 0)
    gate.set()
    stream.synchronize()
    assert (source.deleted, target.deleted) == (1, 1) and target.data[:] == [1, 2]


@pytest.fixture
def lent(stream, reads):
    """A tensor of another library's on the device."""
    if reads:
        pytest.skip("tensors of the simulator are the host's to others")
    memory = anyplace.zeros(2, stream=stream)
    kind, index = memory.__dlpack_device__()
    producer = Capsule(data=memory.address, device_type=kind, device_id=index)
    producer.memory = memory
    return producer


@pytest.mark.parametrize("when", ["in the capture", "after the capture"])
def test_a_graph_keeps_a_foreign_tensor_on_a_device(stream, lent, hold, when):
    onto = anyplace.zeros(2, stream=stream)
    taken = anyplace.from_dlpack(lent, stream=stream)
    with stream.capture() as graph:
        stream.copy(onto, taken)
        if when == "in the capture":
            del taken
    taken = None
    assert lent.deleted == 0
    gate = hold(stream)
    graph.launch(stream)
    graph.close()
    assert lent.deleted == 0
    gate.set()
    stream.synchronize()
    assert lent.deleted == 1


def test_a_foreign_tensor_that_a_host_function_lets_go_stays_until_the_work_is_done(stream, lent, hold):
    onto, taken = anyplace.zeros(2, stream=stream), [anyplace.from_dlpack(lent, stream=stream)]
    before = hold(stream)
    stream.launch_host_func(taken.clear)
    let_go = stream.record_event()
    after = hold(stream)
    stream.copy(onto, taken[0])
    before.set()
    let_go.synchronize()
    assert not taken and lent.deleted == 0
    after.set()
    stream.synchronize()  # the first one notes what is to be waited for
    stream.synchronize()
    assert lent.deleted == 1


def test_a_foreign_tensor_on_a_device_stays_until_its_streams_work_is_done(stream, lent, hold):
    onto = anyplace.zeros(2, stream=stream)
    stream.launch_host_func(len, 1)  # its fault changes nothing
    stream.record_event().synchronize()
    gate = hold(stream)
    taken = anyplace.from_dlpack(lent, stream=stream)
    stream.copy(onto, taken)
    del taken
    assert lent.deleted == 0
    gate.set()
    with pytest.raises(anyplace.StreamFault):
        stream.synchronize()
    stream.synchronize()
    assert lent.deleted == 1
    taken = anyplace.from_dlpack(lent, stream=stream)
    del taken
    assert lent.deleted == 2  # nothing was pending
