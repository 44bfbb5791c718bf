# SPDX-License-Identifier: Apache-2.0
"""Kernels over all elements of arrays: made of expressions, compiled once for each device, and launched.

Arrays that are contiguous and of one shape are run over by one index. Others, and those that are broadcast, have their
strides as arguments; a stride of 0 repeats an element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import _expressions as expressions
from ._core import Array, Device, Kernel, Module, Stream
from ._errors import ClosedError, make
from ._types import ARGUMENTS, CODES, KINDS, TYPES

_BLOCK = 256
_MOST_BLOCKS = 1 << 16
_MOST_DIMENSIONS = 8
_CHUNK = 64

# A source is an expression, its types and the number of dimensions, so there are few. The library's own cache keeps
# what is compiled from one process to the next.
_compiled: dict[tuple[Device, str], Kernel] = {}


def _kernel(device: Device, source: str, argtypes: list[str]) -> Kernel:
    key = (device, source)
    found = _compiled.get(key)
    if found is None:
        module = Module.compile(device, source, name="anyplace/_kernels.py")
        found = _compiled[key] = module.kernel("run", argtypes)
    return found


@contextmanager
def ordered(stream: Stream, arrays: Sequence[Array]) -> Iterator[None]:
    """Work of `stream` on arrays of other streams: it waits for them, and they for it."""
    others: list[Stream] = []
    for array in arrays:
        other = array.stream
        if other is not None and other != stream and other not in others:
            others.append(other)
    for other in others:
        stream.wait_stream(other)
    yield
    for other in others:
        other.wait_stream(stream)


def is_same(first: Array, second: Array) -> bool:
    """Whether the arrays are the same elements in the same order."""
    return (first.address, first.shape, first.strides, first.dtype) == (
        second.address,
        second.shape,
        second.strides,
        second.dtype,
    )


def overlap(first: Array, second: Array) -> bool:
    """Whether the arrays have memory in common in such a way that one can't be written while the other is read."""
    if is_same(first, second):
        return False  # each element is read before it is written
    a, b = _range(first), _range(second)
    return a[0] < b[1] and b[0] < a[1]


def _range(array: Array) -> tuple[int, int]:
    if array.size == 0:
        return 0, 0
    item = array.nbytes // array.size
    low = high = array.address
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride * item
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + item


def fill(stream: Stream, array: Array, value: Any) -> Array:
    """Sets all elements of a contiguous array, without a kernel."""
    from struct import pack

    from ._core import fill_array

    fill_array(stream, array, pack(CODES[array.dtype], value))
    return array


def _strides_to(array: Array, shape: tuple[int, ...]) -> list[int]:
    missing = len(shape) - array.ndim
    strides = [0 if extent == 1 else stride for extent, stride in zip(array.shape, array.strides, strict=True)]
    return [0] * missing + strides


def _require_types(device: Device, types: Sequence[str]) -> None:
    lacking = {"float16": device.properties.float16, "float64": device.properties.float64}
    for dtype in types:
        if lacking.get(dtype) is False:
            text = f"{device} computes no {dtype}: copy the numbers as another type, such as float32"
            raise make(text, {"code": "unsupported", "place": str(device), "problem": text}, None)


def _source(out: Array, expression: str, operands: Sequence[Any], types: Sequence[str], rank: int) -> str:
    """A kernel `run`: the arguments are out, the operands, the count, the shape, and strides for each array."""
    parameters = [f"{TYPES[out.dtype]}* out"]
    loads, arrays = [], ["out"]
    for i, (operand, dtype) in enumerate(zip(operands, types, strict=True)):
        if isinstance(operand, Array):
            parameters.append(f"const {TYPES[operand.dtype]}* a{i}")
            arrays.append(f"a{i}")
            value = f"a{i}[i_a{i}]"
        else:
            parameters.append(f"{_argument_type(operand[1])} s{i}")
            value = f"s{i}"
        computed = expressions.computed(dtype)
        loads.append(f"    const {computed} x{i} = ({computed}){value};")
    parameters.append("long long count")
    parameters += [f"long long n{dim}" for dim in range(rank)]
    parameters += [f"long long {array}_{dim}" for array in arrays for dim in range(rank)]
    if rank == 0:
        indices = [f"    const long long i_{array} = i;" for array in arrays]
    else:
        indices = ["    long long rest = i;"] + [f"    long long i_{array} = 0;" for array in arrays]
        for dim in reversed(range(rank)):
            indices.append(f"    const long long d{dim} = rest % n{dim}; rest /= n{dim};")
            indices += [f"    i_{array} += d{dim} * {array}_{dim};" for array in arrays]
    stored = f"({expression}) != 0" if out.dtype == "bool" else f"({TYPES[out.dtype]})({expression})"
    return "\n".join(
        [
            expressions.FUNCTIONS if expressions.needs_functions(expression) else "",
            f'extern "C" __global__ void run({", ".join(parameters)}) {{',
            "  const long long step = (long long)gridDim.x * blockDim.x;",
            "  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {",
            *indices,
            *loads,
            f"    out[i_out] = {stored};",
            "  }",
            "}",
        ]
    )


def _argument_type(dtype: str) -> str:
    return TYPES["float32" if dtype == "float16" else dtype]


def elementwise(
    stream: Stream, out: Array, expression: str, operands: Sequence[Any], types: Sequence[str], compute: str
) -> None:
    """out[i] = expression of x0, x1, ..., the operands' elements as `types`. A number is (number, its type)."""
    device = stream.device
    arrays = [each for each in operands if isinstance(each, Array)]
    _require_types(device, [out.dtype, compute, *types])
    if out.size == 0:
        return
    flat = all(each.is_contiguous and each.shape == out.shape for each in [out, *arrays])
    rank = 0 if flat else out.ndim
    if rank > _MOST_DIMENSIONS:
        raise ValueError(f"arrays that aren't contiguous have at most {_MOST_DIMENSIONS} dimensions here; copy() them")
    arguments: list[Any] = [out]
    argtypes = ["pointer"]
    for operand in operands:
        if isinstance(operand, Array):
            arguments.append(operand)
            argtypes.append("pointer")
        else:
            number, dtype = operand
            arguments.append(float(number) if KINDS[dtype] == "f" else number)
            argtypes.append(ARGUMENTS[dtype])
    arguments.append(out.size)
    if rank:
        arguments += out.shape
        for array in [out, *arrays]:
            arguments += _strides_to(array, out.shape)
    argtypes += ["i64"] * (len(arguments) - len(argtypes))
    _run(stream, _source(out, expression, operands, types, rank), argtypes, out.size, arguments, [out, *arrays])


def _run(
    stream: Stream,
    source: str,
    argtypes: list[str],
    count: int,
    arguments: Sequence[Any],
    arrays: Sequence[Array],
) -> None:
    device = stream.device
    blocks = min(-(-count // _BLOCK), _MOST_BLOCKS)
    with ordered(stream, arrays):
        try:
            stream.launch(_kernel(device, source, argtypes), blocks, min(count, _BLOCK), *arguments)
        except ClosedError:
            _compiled.pop((device, source), None)  # the device may have been reset since
            stream.launch(_kernel(device, source, argtypes), blocks, min(count, _BLOCK), *arguments)


_REDUCE = """
extern "C" __global__ void run({accumulate}* out, const {element}* in, long long outer, long long count,
                               long long inner, long long chunks, long long chunk) {{
  const long long all = outer * chunks * inner, step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step) {{
    const long long column = i % inner, part = i / inner % chunks, row = i / inner / chunks;
    const long long begin = part * chunk, end = begin + chunk < count ? begin + chunk : count;
    const {element}* at = in + (row * count + begin) * inner + column;
    {start}
    for (long long k = {first}; k < end; ++k, at += inner) {{
      const {accumulate} x = ({accumulate})*at;
      so_far = {step_};
    }}
    out[i] = so_far;
  }}
}}
"""


def reduction(stream: Stream, array: Array, extents: tuple[int, int, int], operation: expressions.Reduction) -> Array:
    """Reduces the middle of the three extents in which the array's elements are seen.

    Each pass reduces chunks. So sums are made of sums of the same length, whose rounding errors grow slowly, and the
    order of additions is the same on every device.
    """
    outer, count, inner = extents
    device = stream.device
    _require_types(device, [array.dtype, operation.accumulate])
    source = array if array.is_contiguous else array.copy()
    made = Array(stream, outer * inner, operation.accumulate)
    if made.size == 0:
        return made
    if count == 0:
        return fill(stream, made, 0)
    while True:
        chunks = -(-count // _CHUNK)
        out = made if chunks == 1 else Array(stream, outer * chunks * inner, operation.accumulate)
        accumulate = TYPES[operation.accumulate]
        if operation.start == "first":
            start, first = f"{accumulate} so_far = ({accumulate})*at; at += inner;", "begin + 1"
        else:
            start, first = f"{accumulate} so_far = {operation.start};", "begin"
        text = _REDUCE.format(
            accumulate=accumulate, element=TYPES[source.dtype], start=start, first=first, step_=operation.step
        )
        arguments = [out, source, outer, count, inner, chunks, _CHUNK]
        _run(stream, text, ["pointer", "pointer", *["i64"] * 5], out.size, arguments, [source])
        if chunks == 1:
            return made
        source, count = out, chunks
