# SPDX-License-Identifier: Apache-2.0
"""Arrays made of nothing, of numbers and of others' memory, and what becomes of them on the host.

`device` is an object or its text; without one it is "auto". An array is made on `stream`, or on the calling thread's
current stream of the device.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ._core import Array, Device, Stream, array_at, current_stream, fill_array, from_dlpack, pinned_array
from ._types import CODES

__all__ = ["asarray", "empty", "full", "pinned_empty", "zeros"]

_Shape = int | Sequence[int]
_ITEMS = {**CODES, "complex64": "ff", "complex128": "dd"}


def _stream_of(device: Device | str | None, stream: Stream | None) -> Stream:
    if stream is None:
        return current_stream("auto" if device is None else device)
    if not isinstance(stream, Stream):
        stream = Stream(stream)  # another library's, which the array then keeps
    if device is not None and stream.device != (Device(device) if isinstance(device, str) else device):
        raise ValueError(f"device, stream: the stream is of {stream.device}, and the device asked for is {device}")
    return stream


def empty(
    shape: _Shape, dtype: str = "float32", *, device: Device | str | None = None, stream: Stream | None = None
) -> Array:
    """An array whose elements aren't cleared."""
    return Array(_stream_of(device, stream), shape, dtype)


def zeros(
    shape: _Shape, dtype: str = "float32", *, device: Device | str | None = None, stream: Stream | None = None
) -> Array:
    """An array of zeros."""
    array = empty(shape, dtype, device=device, stream=stream)
    fill_array(_stream(array), array, b"\0")
    return array


def full(
    shape: _Shape,
    value: float | complex,
    dtype: str | None = None,
    *,
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Array:
    """An array whose elements are `value`. Without `dtype` it has int64, float64, complex128 or bool, as the value."""
    dtype = dtype or _type_of(value)
    element = _pack(dtype, [value])
    array = empty(shape, dtype, device=device, stream=stream)
    fill_array(_stream(array), array, element)
    return array


def pinned_empty(
    shape: _Shape, dtype: str = "float32", *, device: Device | str | None = None, stream: Stream | None = None
) -> Array:
    """An array in memory of the host that copies from and to the device take without waiting."""
    extents = [shape] if isinstance(shape, int) else list(shape)
    return pinned_array(_stream_of(device, stream), extents, dtype)


def asarray(
    x: object,
    dtype: str | None = None,
    *,
    device: Device | str | None = None,
    stream: Stream | None = None,
    copy: bool | None = None,
) -> Array:
    """An array of a device with the elements of `x`: an Array, another library's array, a number, or lists of numbers.

    What is on the device already, with the type asked for, is taken without a copy, unless `copy` is true. With `copy`
    false a ValueError says why there has to be one.
    """
    if device is None and stream is None:
        device = _device_of(x)
    where = _stream_of(device, stream)
    source = _source_of(x, where, dtype)
    if source.device == where.device and (dtype is None or dtype == source.dtype) and not copy:
        return source
    if copy is False:
        raise ValueError(
            f"copy: {source.dtype} on {source.device or 'the host'} becomes another type or place by a copy"
        )
    if source.device is None:
        made = Array(where, source.shape, source.dtype)
        where.copy(made, source)
        where.synchronize()  # the host's memory is x's, who may change it
    elif source.device != where.device:
        made = to_device(source, where.device, where)
    else:
        made = source.copy() if copy or source is x else source
    return made if dtype in (None, made.dtype) else made.astype(dtype)


def _device_of(x: object) -> Device | None:
    """The device of an array that is on one, so that it stays there."""
    if isinstance(x, Array):
        return x.device
    if hasattr(x, "__cuda_array_interface__"):
        return Device("cuda")
    if hasattr(x, "__dlpack_device__"):
        kind, index = x.__dlpack_device__()
        backend = {2: "cuda", 10: "hip", 14: "levelzero"}.get(int(kind))
        return Device(f"{backend}:{index}") if backend else None
    return None


def _source_of(x: Any, stream: Stream, dtype: str | None) -> Array:
    if isinstance(x, Array):
        return x
    if hasattr(x, "__dlpack__"):
        foreign = int(x.__dlpack_device__()[0]) not in (1, 3, 11)
        return from_dlpack(x, stream=stream if foreign else None)
    if hasattr(x, "__cuda_array_interface__"):
        return _from_cuda_array_interface(x, stream)
    extents, numbers = _flatten(x)
    dtype = dtype or _type_of_all(numbers)
    array = Array(stream, extents, dtype)
    if numbers:
        stream.copy(array, _pack(dtype, numbers))
    return array


_TYPESTRS = {
    "|b1": "bool",
    "|i1": "int8",
    "|u1": "uint8",
    **{f"<i{n}": f"int{8 * n}" for n in (2, 4, 8)},
    **{f"<u{n}": f"uint{8 * n}" for n in (2, 4, 8)},
    **{f"<f{n}": f"float{8 * n}" for n in (2, 4, 8)},
    "<c8": "complex64",
    "<c16": "complex128",
}


def _from_cuda_array_interface(x: Any, stream: Stream) -> Array:
    """Another library's array on CUDA, without a copy; `stream` waits for the one that the interface names."""
    interface = x.__cuda_array_interface__
    dtype = _TYPESTRS.get(interface["typestr"])
    if dtype is None:
        raise TypeError(f"x: elements of {interface['typestr']!r} have no type here")
    if interface.get("mask") is not None:
        raise TypeError("x: arrays with a mask aren't taken")
    foreign = interface.get("stream")
    if foreign == 0:
        raise ValueError("x: its stream is 0, which the protocol doesn't allow: 1 is the legacy default stream")
    if foreign is not None:
        other = stream.device.default_stream if foreign in (1, 2) else Stream.from_external(foreign, stream.device)
        stream.wait_stream(other)
    strides = interface.get("strides")
    if strides is not None:
        item = struct.calcsize(f"={_ITEMS[dtype]}")
        if any(stride % item for stride in strides):
            raise ValueError(f"x: strides of {strides} bytes are no whole elements of {dtype}")
        strides = [stride // item for stride in strides]
    return array_at(stream, interface["data"][0], dtype, list(interface["shape"]), strides, x)


def _flatten(x: Any) -> tuple[list[int], list[Any]]:
    """The extents and the elements of lists of lists."""
    if not isinstance(x, list | tuple):
        return [], [x]
    if not x:
        return [0], []
    parts = [_flatten(each) for each in x]
    if any(part[0] != parts[0][0] for part in parts):
        raise ValueError("x: the lists in a list are of different lengths")
    return [len(x), *parts[0][0]], [number for part in parts for number in part[1]]


def _type_of(value: object) -> str:
    for kind, dtype in ((bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")):
        if isinstance(value, kind):
            return dtype
    dtype = str(getattr(value, "dtype", ""))
    if dtype in _ITEMS and getattr(value, "shape", None) == ():
        return dtype
    raise TypeError(f"a {type(value).__name__} is no number")


def _type_of_all(numbers: Sequence[Any]) -> str:
    if not numbers:
        return "float64"
    order = ("bool", "int64", "float64", "complex128")
    found = {_type_of(number) for number in numbers}
    return max(found, key=lambda dtype: order.index(dtype) if dtype in order else -1)


def _pack(dtype: str, numbers: Sequence[Any]) -> bytes:
    code = _ITEMS.get(dtype)
    if code is None:
        raise ValueError(f"dtype: {dtype!r} can't be made of numbers; {', '.join(_ITEMS)} can")
    values = [number.item() if hasattr(number, "item") else number for number in numbers]
    try:
        if len(code) == 2:
            values = [part for number in values for part in (complex(number).real, complex(number).imag)]
            return struct.pack(f"={len(values)}{code[0]}", *values)
        if dtype != "bool":
            convert = float if code in "efd" else int
            values = [convert(number) for number in values]
        return struct.pack(f"={len(values)}{code}", *values)
    except (struct.error, OverflowError) as error:
        raise OverflowError(f"a number doesn't fit {dtype}: {error}") from None


def _stream(array: Array) -> Stream:
    if array.stream is None:
        raise TypeError("the array is memory of the host without a stream: NumPy takes it by from_dlpack")
    return array.stream


def copy_of(array: Array) -> Array:
    """Array.copy."""
    stream = _stream(array)
    if array.device is None:
        made = pinned_array(stream, array.shape, array.dtype)
    else:
        made = Array(stream, array.shape, array.dtype)
    stream.copy(made, array)
    return made


def to_device(array: Array, device: Device | str, stream: Stream | None) -> Array:
    """Array.to_device."""
    from ._kernels import ordered

    target = Device(device) if isinstance(device, str) else device
    if array.device == target:
        if stream is not None and array.stream is not None and stream != array.stream:
            stream.wait_stream(array.stream)
            array.record_stream(stream)
        return array
    where = _stream_of(target, stream)
    made = Array(where, array.shape, array.dtype)
    with ordered(where, [array]):
        where.copy(made, array)
    if array.device is None:
        where.synchronize()  # no stream orders what the memory's owner writes next
    return made


def _bytes_of(array: Array) -> bytearray:
    stream = _stream(array)
    host = bytearray(array.nbytes)
    if array.size != 0:
        stream.synchronize()  # a copy to memory that isn't pinned may wait, which Ctrl-C doesn't end
        # Memory without a type is as the array's, and contiguous.
        stream.copy(host, array)
        stream.synchronize()
    return host


def numpy_of(array: Array) -> Any:
    """Array.numpy."""
    import numpy

    if array.dtype == "bfloat16":
        raise TypeError("NumPy has no bfloat16: use from_dlpack with a library that has, or astype() before")
    return numpy.frombuffer(_bytes_of(array), dtype=array.dtype).reshape(array.shape)


def _numbers_of(array: Array) -> list[Any]:
    code = _ITEMS.get(array.dtype)
    if code is None:
        raise TypeError(f"elements of {array.dtype} are no numbers of Python's")
    numbers = struct.unpack(f"={array.size * len(code)}{code[0]}", _bytes_of(array))
    if len(code) == 2:
        return [complex(real, imaginary) for real, imaginary in zip(numbers[::2], numbers[1::2], strict=True)]
    return list(numbers)


def item_of(array: Array) -> Any:
    """Array.item."""
    if array.size != 1:
        raise ValueError(f"the array has {array.size} elements, and not one")
    return _numbers_of(array)[0]


def list_of(array: Array) -> Any:
    """Array.tolist."""
    parts: list[Any] = _numbers_of(array)
    if array.ndim == 0:
        return parts[0]
    for extent in reversed(array.shape[1:]):
        count = len(parts) // extent if extent else 0
        parts = [parts[i * extent : (i + 1) * extent] for i in range(count)]
    return parts if parts or 0 not in array.shape[1:] else [[] for _ in range(array.shape[0])]


def truth_of(array: Array) -> bool:
    """bool(array)."""
    if array.size != 1:
        raise ValueError(
            f"an array of {array.size} elements is neither true nor false; compare one, or use max() or min()"
        )
    return bool(item_of(array))
