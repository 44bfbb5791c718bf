# SPDX-License-Identifier: Apache-2.0
"""The types that have arithmetic, and what two of them become together: NumPy's rules (NEP 50)."""

from __future__ import annotations

KINDS = {
    "bool": "b",
    "uint8": "u",
    "uint16": "u",
    "uint32": "u",
    "uint64": "u",
    "int8": "i",
    "int16": "i",
    "int32": "i",
    "int64": "i",
    "float16": "f",
    "float32": "f",
    "float64": "f",
}
TYPES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "float16": "_Float16",
    "float32": "float",
    "float64": "double",
}
# The names that Module.kernel and struct know them by.
ARGUMENTS = {
    "bool": "bool",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f32",
    "float32": "f32",
    "float64": "f64",
}
CODES = {
    "bool": "?",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}


def bits(dtype: str) -> int:
    """How many bits an element has; 8 for a bool."""
    return 8 if dtype == "bool" else int(dtype.lstrip("uintfloa"))


def promote(first: str, second: str) -> str:
    """The type that holds the values of both, as numpy.promote_types says."""
    if first == second:
        return first
    kinds = KINDS[first], KINDS[second]
    if kinds[0] == kinds[1]:
        return max(first, second, key=bits)
    if "b" in kinds:
        return second if kinds[0] == "b" else first
    if set(kinds) == {"i", "u"}:
        signed, unsigned = (first, second) if kinds[0] == "i" else (second, first)
        width = max(bits(signed), 2 * bits(unsigned))
        return f"int{width}" if width <= 64 else "float64"
    real, whole = (first, second) if kinds[0] == "f" else (second, first)
    needed = {8: 16, 16: 32}.get(bits(whole), 64)
    return f"float{max(bits(real), needed)}"


def of_scalar(value: object, other: str) -> str | None:
    """The type of a number beside an array of type `other`; None for what isn't a number.

    Python's own numbers are weak: they take the array's type unless their kind is a higher one.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(value, "shape", None) == () and str(dtype) in KINDS:
        return str(dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64" if KINDS[other] == "b" else other
    if isinstance(value, float):
        return other if KINDS[other] == "f" else "float64"
    return None
