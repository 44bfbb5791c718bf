# SPDX-License-Identifier: Apache-2.0
"""Arrays that are made, computed with and reduced. Where there is NumPy, its results are what is right."""

import itertools
import math
import operator

import pytest

import anyplace
from anyplace._types import promote

WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES = ["bool", *WHOLE, "float32", "float64"]
EXAMPLES = {
    "b": [False, True, True, False, True],
    "i": [-128, 100, 0, -3, 7],
    "u": [3, 0, 200, 7, 2],
    "f": [-2.5, 0.0, math.nan, math.inf, 7.25],
}


@pytest.fixture
def computing(stream):
    """A stream of a device that kernels are compiled for."""
    try:
        anyplace.zeros(2, stream=stream) + 1
        stream.synchronize()
    except anyplace.Error as error:
        if error.code not in ("unsupported", "invalid_image"):
            raise
        pytest.skip(str(error))
    return stream


def test_arrays_are_made_of_nothing_zeros_and_numbers(stream):
    assert anyplace.empty((2, 3), stream=stream).shape == (2, 3)
    assert anyplace.zeros((2, 2), "int16", stream=stream).tolist() == [[0, 0], [0, 0]]
    assert anyplace.full(3, 7, stream=stream).tolist() == [7, 7, 7]
    assert anyplace.full((), 2.5, stream=stream).dtype == "float64"
    assert anyplace.full(2, True, stream=stream).tolist() == [True, True]
    assert anyplace.full(1, 1 + 2j, stream=stream).item() == 1 + 2j
    assert anyplace.zeros((0, 3), stream=stream).tolist() == []
    assert anyplace.zeros((3, 0), stream=stream).tolist() == [[], [], []]
    assert anyplace.pinned_empty(4, stream=stream).device is None
    with pytest.raises(OverflowError, match="uint8"):
        anyplace.full(2, 256, "uint8", stream=stream)
    with pytest.raises(ValueError, match="dtype"):
        anyplace.full(2, 1, "text", stream=stream)
    with pytest.raises(ValueError, match="shape"):
        anyplace.zeros(-1, stream=stream)


def test_a_device_is_named_instead_of_a_stream(device, stream):
    assert anyplace.zeros(2, device=device).device == device
    assert anyplace.zeros(2, device=str(device)).stream == anyplace.current_stream(device)
    with stream:
        assert anyplace.zeros(2, device=device).stream == stream
    with pytest.raises(ValueError, match="device, stream"):
        anyplace.zeros(2, device="cpu_sim:1" if str(device) == "cpu_sim:0" else "cpu_sim:0", stream=stream)


def test_asarray_takes_numbers_lists_and_arrays(stream):
    assert anyplace.asarray([[1, 2], [3, 4]], stream=stream).tolist() == [[1, 2], [3, 4]]
    assert anyplace.asarray([1, 2.5], stream=stream).dtype == "float64"
    assert anyplace.asarray(3, "float32", stream=stream).item() == 3.0
    array = anyplace.asarray((True, False), stream=stream)
    assert array.dtype == "bool" and anyplace.asarray(array) is array
    copied = anyplace.asarray(array, copy=True)
    assert copied.tolist() == [True, False] and copied.address != array.address
    with pytest.raises(ValueError, match="copy"):
        anyplace.asarray(array, "int32", copy=False)
    with pytest.raises(ValueError, match="lengths"):
        anyplace.asarray([[1], [2, 3]], stream=stream)
    with pytest.raises(TypeError, match="number"):
        anyplace.asarray(["a"], stream=stream)


def test_what_numpy_has_is_copied_to_the_device_and_back(stream):
    numpy = pytest.importorskip("numpy")
    source = numpy.arange(6, dtype="int16").reshape(2, 3)[:, ::-1]
    array = anyplace.asarray(numpy.ascontiguousarray(source), stream=stream)
    source = source.copy()
    assert array.device == stream.device and (array.numpy() == source).all()
    assert (array[:, 1].numpy() == source[:, 1]).all()
    assert (array.copy().numpy() == source).all() and array.numpy().flags.owndata is False


def test_an_array_is_a_number_where_it_has_one_element(stream):
    one = anyplace.full((1, 1), 3.5, stream=stream)
    assert one.item() == float(one) == 3.5 and int(one) == 3 and bool(one)
    two = anyplace.zeros(2, stream=stream)
    for use in (two.item, lambda: bool(two), lambda: float(two)):
        with pytest.raises(ValueError, match="2 elements"):
            use()
    with pytest.raises(TypeError, match="hash"):
        hash(two)


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne"]
)
def test_operators_give_what_numpys_give(computing, name):
    numpy = pytest.importorskip("numpy")
    function = getattr(operator, name)
    for first, second in [("int8", "int8"), ("int64", "uint64"), ("bool", "bool"), ("float32", "float64")]:
        if name == "sub" and first == "bool":
            continue
        a = numpy.array(EXAMPLES[numpy.dtype(first).kind], first)
        b = numpy.array(EXAMPLES[numpy.dtype(second).kind], second)[::-1].copy()
        with numpy.errstate(all="ignore"):
            expected = function(a, b)
        got = function(anyplace.asarray(a, stream=computing), anyplace.asarray(b, stream=computing))
        assert got.dtype == expected.dtype.name, (first, second)
        assert numpy.array_equal(got.numpy(), expected, equal_nan=expected.dtype.kind == "f"), (
            first,
            second,
            got.numpy(),
        )


def test_two_types_become_what_numpys_become():
    numpy = pytest.importorskip("numpy")
    for first, second in itertools.product([*TYPES, "float16"], repeat=2):
        assert promote(first, second) == numpy.promote_types(first, second).name, (first, second)


def test_numbers_of_python_take_the_arrays_type(computing):
    whole = anyplace.asarray([1, 2, 3], "int8", stream=computing)
    assert (whole + 1).dtype == "int8" and (2 - whole).tolist() == [1, 0, -1]
    assert (whole * 0.5).dtype == "float64" and (1 / whole).tolist() == [1, 0.5, 1 / 3]
    assert (whole > 1).tolist() == [False, True, True] and (whole == 2).dtype == "bool"
    assert (anyplace.zeros(1, stream=computing) + 1.5).dtype == "float32"
    assert (anyplace.full(1, True, stream=computing) + 1).dtype == "int64"
    assert (
        (7 // whole).tolist() == [7, 3, 2] and (-7 % whole).tolist() == [0, 1, 2] and (whole**2).tolist() == [1, 4, 9]
    )
    assert (whole < 1000).tolist() == [True] * 3 and (whole == -129).tolist() == [False] * 3
    assert (whole > -1000).tolist() == [True] * 3 and (1000 <= whole).tolist() == [False] * 3
    with pytest.raises(OverflowError):
        whole + 1000
    with pytest.raises(TypeError):
        whole + "1"
    with pytest.raises(TypeError):
        whole + [1, 2, 3]


def test_unary_operators_and_bits(computing):
    whole = anyplace.asarray([-128, 0, 5], "int8", stream=computing)
    assert (
        (-whole).tolist() == [-128, 0, -5]
        and abs(whole).tolist() == [-128, 0, 5]
        and (~whole).tolist() == [127, -1, -6]
    )
    assert (
        (+whole).tolist() == whole.tolist()
        and (whole & 4).tolist() == [0, 0, 4]
        and (whole | 1).tolist() == [-127, 1, 5]
    )
    truth = whole > 0
    assert (~truth).tolist() == [True, True, False] and (truth ^ True).tolist() == [True, True, False]
    assert abs(anyplace.asarray([-1.5, 2.0], stream=computing)).tolist() == [1.5, 2.0]
    for wrong in (lambda: -truth, lambda: truth - truth, lambda: ~anyplace.zeros(1, stream=computing)):
        with pytest.raises(TypeError, match="boolean|integers"):
            wrong()


def test_shapes_are_broadcast_and_slices_are_views(computing):
    column = anyplace.asarray([[1.0], [2.0]], stream=computing)
    row = anyplace.asarray([10.0, 20.0, 30.0], stream=computing)
    both = column + row
    assert both.tolist() == [[11, 21, 31], [12, 22, 32]]
    assert (both[:, ::-1] * 2).tolist() == [[62, 42, 22], [64, 44, 24]]
    assert (both.permute((1, 0)) - both.permute((1, 0))[:1]).tolist() == [[0, 0], [10, 10], [20, 20]]
    part = both[0]
    part += 1
    assert both.tolist() == [[12, 22, 32], [12, 22, 32]]
    both[:, 1] = -1
    both[1] = row
    assert both.tolist() == [[12, -1, 32], [10, 20, 30]]
    with pytest.raises(ValueError, match="broadcast"):
        row + anyplace.zeros(2, stream=computing)
    with pytest.raises(ValueError, match="broadcast"):
        row[:] = both
    with pytest.raises(ValueError, match="shape"):
        row += both


def test_in_place_keeps_the_type_and_reads_before_it_writes(computing):
    numbers = anyplace.asarray([1, 2, 3, 4], "int32", stream=computing)
    address = numbers.address
    numbers += numbers
    numbers[1:] += numbers[:-1]
    assert numbers.tolist() == [2, 6, 10, 14] and numbers.address == address
    with pytest.raises(TypeError, match="float64"):
        numbers /= 2
    wide = anyplace.asarray([1.0, 2.0], "float32", stream=computing)
    wide *= anyplace.asarray([2.0, 3.0], "float64", stream=computing)
    assert wide.dtype == "float32" and wide.tolist() == [2, 6]


def test_reductions_are_over_all_or_along_a_dimension(computing):
    numbers = anyplace.asarray([[1, 2, 3], [4, 5, -6]], "int16", stream=computing)
    assert numbers.sum().item() == 9 and numbers.sum().dtype == "int64" and numbers.sum().shape == ()
    assert numbers.sum(0).tolist() == [5, 7, -3] and numbers.sum(axis=-1, keepdims=True).tolist() == [[6], [3]]
    assert numbers.min().item() == -6 and numbers.max(1).tolist() == [3, 5] and numbers.max().dtype == "int16"
    assert numbers.mean().item() == 1.5 and numbers.mean(0).tolist() == [2.5, 3.5, -1.5]
    assert numbers[:, ::2].sum().item() == 2
    assert anyplace.zeros((0, 2), stream=computing).sum(0).tolist() == [0, 0]
    assert math.isnan(anyplace.zeros(0, stream=computing).mean().item())
    assert math.isnan(anyplace.asarray([1.0, math.nan, 0.0], stream=computing).min().item())
    with pytest.raises(ValueError, match="elements"):
        anyplace.zeros(0, stream=computing).max()
    with pytest.raises(ValueError, match="axis"):
        numbers.sum(2)


def test_long_sums_are_exact_and_the_same_each_time(computing):
    ones = anyplace.full(300_001, 1.0, "float32", stream=computing)
    assert ones.sum().item() == 300_001
    third = ones / 3
    assert third.sum().item() == third.sum().item()
    assert abs(third.sum().item() - 100_000.333) < 0.05


def test_halves_are_computed_as_floats(computing):
    half = anyplace.asarray([1.0, 0.1], "float16", stream=computing)
    if computing.device.properties.float16 is False:
        with pytest.raises(anyplace.UnsupportedError, match="float16") as caught:
            half + half
        assert caught.value.code == "unsupported"
        return
    assert (half + half).dtype == "float16" and (half * 2).tolist() == [2.0, 2 * half.tolist()[1]]
    assert half.sum().dtype == "float16" and half.astype("float32").tolist() == half.tolist()


def test_arrays_of_other_streams_are_waited_for(computing):
    other = anyplace.Stream(computing.device)
    first = anyplace.full(1000, 1.0, stream=other)
    second = anyplace.full(1000, 2.0, stream=computing)
    made = second + first
    assert made.stream == computing and made.sum().item() == 3000
    del other
    assert (first + second).sum().item() == 3000


def test_what_isnt_there_says_so(computing):
    with pytest.raises(TypeError, match="complex64"):
        anyplace.zeros(2, "complex64", stream=computing) + 1
    with pytest.raises(TypeError, match="host"):
        anyplace.pinned_empty(2, stream=computing) + 1
    with pytest.raises(TypeError, match="conversion"):
        anyplace.zeros(2, stream=computing).astype("bfloat16")
    with pytest.raises(ValueError, match="power"):
        anyplace.zeros(2, "int32", stream=computing) ** -1
    devices = anyplace.devices(computing.device.backend)
    if len(devices) > 1:
        with pytest.raises(ValueError, match="to_device"):
            anyplace.zeros(2, device=devices[0]) + anyplace.zeros(2, device=devices[1])


def test_kernels_are_compiled_again_after_a_reset(computing):
    from anyplace import _kernels

    class Reset:
        """A stream whose device was reset after the kernel was compiled. No device that compiles kernels here can be."""

        device = computing.device
        kernels: list[anyplace.Kernel] = []

        def launch(self, kernel, *arguments):
            self.kernels.append(kernel)
            if len(self.kernels) == 1:
                raise anyplace.ClosedError("the kernel's device was reset")

    _kernels._run(Reset(), 'extern "C" __global__ void run() {}', [], 1, [], [])
    assert len(Reset.kernels) == 2 and Reset.kernels[0] is not Reset.kernels[1]
