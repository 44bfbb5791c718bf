# SPDX-License-Identifier: Apache-2.0
"""What Array's operators and reductions do: kernels that are compiled from expressions, once for each device.

Work goes to the stream of the first array. It waits for the streams of the others, and they for it, so that all may be
used and freed in their own order. The types of results are NumPy's: an int, float or bool of Python's takes the array's
type where it can ("weak"), a scalar of NumPy's has its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _expressions as expressions
from . import _kernels as kernels
from ._core import Array, Stream
from ._types import KINDS, TYPES, of_scalar, promote

__all__ = ["assign", "astype", "binary", "in_place", "reduce", "unary"]

_COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
_BITWISE = {"bitwise_and", "bitwise_or", "bitwise_xor"}


class _Operand(NamedTuple):
    """An array, or a number that is passed as an argument."""

    array: Array | None
    number: Any
    dtype: str


def _operand(value: object, other: str) -> _Operand | None:
    """None for what isn't an operand. `other` is the type of the array beside it."""
    if isinstance(value, Array):
        return _Operand(value, None, value.dtype)
    dtype = of_scalar(value, other)
    if dtype is None:
        return None
    return _Operand(None, value.item() if hasattr(value, "item") else value, dtype)


def _require(array: Array) -> Stream:
    if array.device is None or array.stream is None:
        raise TypeError("the array is memory of the host: asarray() copies it to a device, or use NumPy for it")
    if array.dtype not in KINDS:
        raise TypeError(f"there is no arithmetic of {array.dtype}: {', '.join(KINDS)} have it")
    return array.stream


def broadcast_shapes(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that both become by NumPy's rules."""
    shape = []
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    padded = (1,) * (len(longer) - len(shorter)) + shorter
    for a, b in zip(longer, padded, strict=True):
        if a != b and 1 not in (a, b):
            raise ValueError(
                f"the shapes {first} and {second} can't be broadcast: extents are equal, or one of them is 1"
            )
        shape.append(b if a == 1 else a)
    return tuple(shape)


def _result_type(name: str, dtype: str) -> tuple[str, str]:
    """The type that is computed with, and that of the result."""
    kind = KINDS[dtype]
    if name in _COMPARISONS:
        return dtype, "bool"
    if name == "subtract" and kind == "b":
        raise TypeError("booleans aren't subtracted: ^ tells where they differ")
    if name in _BITWISE:
        if kind == "f":
            raise TypeError(f"{name}: it is for integers and booleans")
        return dtype, dtype
    if name == "divide" and kind != "f":
        return "float64", "float64"
    if kind == "b" and name in ("floor_divide", "remainder", "power"):
        return "int8", "int8"
    return dtype, dtype


def _check_power(exponent: _Operand, dtype: str) -> None:
    if KINDS[dtype] == "f":
        return
    if exponent.array is None and exponent.number < 0:
        raise ValueError("power: an integer has no negative powers; give a float")
    if exponent.array is not None and KINDS[exponent.dtype] == "i":
        raise TypeError("power: exponents of integers are unsigned, or a number of Python's; use astype")


def _outside(name: str, operand: _Operand, dtype: str, mirrored: bool) -> bool | None:
    """What a comparison with a number beyond the type's range gives everywhere; None for one within."""
    if name not in _COMPARISONS or operand.array is not None or KINDS[dtype] not in "iu":
        return None
    low, high = expressions.RANGES[dtype]
    if low <= operand.number <= high:
        return None
    is_less = (operand.number > high) != mirrored  # whether the left side is less
    return {"equal": False, "not_equal": True}.get(name, is_less if name.startswith("less") else not is_less)


def binary(name: str, array: Array, other: object, reflected: bool = False, out: Array | None = None) -> Any:
    """The operator of that name; NotImplemented for an operand that isn't one."""
    stream = _require(array)
    second = _operand(other, array.dtype)
    if second is None:
        return NotImplemented
    if second.array is not None:
        _require(second.array)
        if second.array.device != array.device:
            raise ValueError(f"the arrays are on {array.device} and {second.array.device}: copy one with to_device()")
    left, right = _Operand(array, None, array.dtype), second
    if reflected:
        left, right = right, left
    mixed = name in _COMPARISONS and expressions.is_mixed(left.dtype, right.dtype)
    dtype = "int64" if mixed else promote(left.dtype, right.dtype)
    if name == "power":
        _check_power(right, dtype)
    compute, result = _result_type(name, dtype)
    shape = array.shape if second.array is None else broadcast_shapes(array.shape, second.array.shape)
    out = _destination(out, name, stream, shape, result)
    everywhere = _outside(name, second, dtype, reflected)
    if everywhere is not None:
        return kernels.fill(stream, out, everywhere)
    expression = expressions.mixed(name, left.dtype) if mixed else expressions.binary(name, compute)
    operands = [each.array if each.array is not None else (each.number, dtype) for each in (left, right)]
    types = [left.dtype, right.dtype] if mixed else [compute, compute]
    kernels.elementwise(stream, out, expression, operands, types, result)
    return out


def _destination(out: Array | None, name: str, stream: Stream, shape: tuple[int, ...], result: str) -> Array:
    if out is None:
        return Array(stream, shape, result)
    if out.shape != shape:
        raise ValueError(f"{name}: the result has the shape {shape}, and the array {out.shape}")
    if "buif".index(KINDS[result]) > "buif".index(KINDS[out.dtype]):
        raise TypeError(f"{name}: the result is of {result}, which an array of {out.dtype} doesn't hold; use astype")
    if out.is_read_only:
        raise ValueError(f"{name}: the array is read-only")
    return out


def in_place(name: str, array: Array, other: object) -> Any:
    """array += other and so on. What overlaps with the array is copied before."""
    _require(array)
    if isinstance(other, Array) and kernels.overlap(array, other):
        other = other.copy()
    return binary(name, array, other, out=array)


def unary(name: str, array: Array) -> Array:
    """-array, +array, abs(array) and ~array."""
    stream = _require(array)
    kind = KINDS[array.dtype]
    if kind == "b" and name in ("negative", "positive"):
        raise TypeError(f"{name}: booleans have no sign; ~ inverts them")
    if kind == "f" and name == "invert":
        raise TypeError("invert: it is for integers and booleans")
    out = Array(stream, array.shape, array.dtype)
    compute = array.dtype
    kernels.elementwise(stream, out, expressions.unary(name, compute), [array], [compute], compute)
    return out


def astype(array: Array, dtype: str) -> Array:
    """A copy with elements of another type. A float beyond the range of an integer gives any number."""
    stream = _require(array)
    if dtype not in KINDS:
        raise TypeError(f"dtype: there is no conversion to {dtype!r}; {', '.join(KINDS)} have one")
    out = Array(stream, array.shape, dtype)
    kernels.elementwise(stream, out, "x0", [array], [array.dtype], array.dtype)
    return out


def assign(array: Array, value: object) -> None:
    """array[...] = value: an array that can be broadcast, or a number."""
    stream = _require(array)
    if array.is_read_only:
        raise ValueError("the array is read-only")
    operand = _operand(value, array.dtype)
    if operand is None:
        raise TypeError(f"value: a {type(value).__name__} is neither an Array nor a number; asarray() makes one of it")
    if operand.array is None:
        kernels.elementwise(stream, array, "x0", [(operand.number, operand.dtype)], [operand.dtype], operand.dtype)
        return
    source = operand.array
    _require(source)
    if broadcast_shapes(array.shape, source.shape) != array.shape:
        raise ValueError(f"value: its shape {source.shape} can't be broadcast to {array.shape}")
    if kernels.is_same(array, source):
        return  # array[part] += 1 comes here with what it has changed
    if kernels.overlap(array, source):
        source = source.copy()
    if source.shape == array.shape and source.dtype == array.dtype:
        with kernels.ordered(stream, [source]):
            stream.copy(array, source)
        return
    kernels.elementwise(stream, array, "x0", [source], [source.dtype], source.dtype)


def reduce(name: str, array: Array, axis: int | None, keepdims: bool) -> Array:
    """sum, min, max and mean, of all elements or along one dimension."""
    stream = _require(array)
    if axis is not None:
        if not -array.ndim <= axis < array.ndim:
            raise ValueError(f"axis: {axis} is no dimension of an array with {array.ndim} of them")
        axis %= array.ndim
    shape = array.shape
    count = array.size if axis is None else shape[axis]
    outer = 1 if axis is None else _product(shape[:axis])
    inner = 1 if axis is None else _product(shape[axis + 1 :])
    if axis is None:
        left = (1,) * array.ndim if keepdims else ()
    else:
        left = shape[:axis] + ((1,) if keepdims else ()) + shape[axis + 1 :]
    if count == 0 and name in ("min", "max"):
        raise ValueError(f"{name}: there are no elements, and so there is none")
    operation = expressions.reduction(name, array.dtype)
    made = kernels.reduction(stream, array, (outer, count, inner), operation)
    if name == "mean":
        divided = Array(stream, made.shape, operation.result)
        expression = f"({TYPES[operation.accumulate]})(x0 / x1)"
        operands: list[Any] = [made, (float(count), operation.accumulate)]
        kernels.elementwise(stream, divided, expression, operands, [operation.accumulate] * 2, operation.accumulate)
        made = divided
    elif made.dtype != operation.result:
        made = astype(made, operation.result)
    return made.reshape(left)


def _product(extents: tuple[int, ...]) -> int:
    product = 1
    for extent in extents:
        product *= extent
    return product
