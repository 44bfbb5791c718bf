# SPDX-License-Identifier: Apache-2.0
"""The expressions of C that kernels are compiled from. Integers wrap around, which signed ones of C don't."""

from __future__ import annotations

from typing import NamedTuple

from ._types import KINDS, TYPES, bits

RANGES = {
    dtype: (0, 2 ** bits(dtype) - 1) if kind == "u" else (-(2 ** (bits(dtype) - 1)), 2 ** (bits(dtype) - 1) - 1)
    for dtype, kind in KINDS.items()
    if kind in "iu"
}
_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_COMPARED = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_OWN = {"floor_divide": "whole_quotient", "remainder": "signed_remainder", "power": "whole_power"}
_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}


def is_mixed(first: str, second: str) -> bool:
    """Whether no integer type holds the values of both integers."""
    return "uint64" in (first, second) and "i" in (KINDS[first], KINDS[second])


def computed(dtype: str) -> str:
    """The type of C that is computed with: halves are floats, and rounded at the end."""
    return TYPES["float32" if dtype == "float16" else dtype]


def _wrapping(dtype: str) -> str:
    return "unsigned long long" if bits(dtype) == 64 else "unsigned int"


def binary(name: str, dtype: str) -> str:
    """An expression of x0 and x1, which are of that type."""
    kind = KINDS[dtype]
    if name in _COMPARED:
        return f"x0 {_COMPARED[name]} x1"
    if name in _BITS:
        return f"x0 {_BITS[name]} x1"
    if kind == "b":
        return {"add": "x0 || x1", "multiply": "x0 && x1"}[name]
    if name in _SIGNS:
        if kind == "f":
            return f"x0 {_SIGNS[name]} x1"
        wide = _wrapping(dtype)
        return f"({TYPES[dtype]})(({wide})x0 {_SIGNS[name]} ({wide})x1)"
    if name == "power" and kind == "f":
        return "powf(x0, x1)" if computed(dtype) == "float" else "pow(x0, x1)"
    return f"{_OWN[name]}(x0, x1)"


def mixed(name: str, left: str) -> str:
    """A comparison of a signed integer with a uint64."""
    compared = "compare(x0, x1)" if left != "uint64" else "-compare(x1, x0)"
    return f"{compared} {_COMPARED[name]} 0"


def unary(name: str, dtype: str) -> str:
    """An expression of x0."""
    kind, wide = KINDS[dtype], "" if KINDS[dtype] == "f" else _wrapping(dtype)
    if name == "invert":
        return "!x0" if kind == "b" else "~x0"
    if name == "negative":
        return "-x0" if kind == "f" else f"({TYPES[dtype]})(({wide})0 - ({wide})x0)"
    if name == "absolute" and kind in "if":
        if kind == "f":
            return "fabsf(x0)" if computed(dtype) == "float" else "fabs(x0)"
        return f"x0 < 0 ? ({TYPES[dtype]})(({wide})0 - ({wide})x0) : x0"
    return "x0"


class Reduction(NamedTuple):
    """How elements become one: `step` is of `so_far` and `x`."""

    start: str
    step: str
    accumulate: str
    result: str


def reduction(name: str, dtype: str) -> Reduction:
    kind = KINDS[dtype]
    if name in ("min", "max"):
        better = "<" if name == "min" else ">"
        # A NaN is unlike itself; once it is there, nothing is better.
        step = (
            f"(so_far != so_far || so_far {better} x) ? so_far : x"
            if kind == "f"
            else f"so_far {better} x ? so_far : x"
        )
        return Reduction("first", step, "float32" if dtype == "float16" else dtype, dtype)
    if name == "mean":
        wide = "float32" if dtype in ("float16", "float32") else "float64"
        return Reduction("0", "so_far + x", wide, dtype if kind == "f" else "float64")
    if kind == "f":
        return Reduction("0", "so_far + x", "float32" if dtype == "float16" else dtype, dtype)
    wide = "uint64" if kind == "u" else "int64"
    return Reduction("0", f"({TYPES[wide]})((unsigned long long)so_far + (unsigned long long)x)", wide, wide)


def needs_functions(expression: str) -> bool:
    """Whether the expression calls one of FUNCTIONS."""
    return any(f"{name}(" in expression for name in (*_OWN.values(), "compare"))


# Division and remainder as Python and NumPy have them: the remainder has the divisor's sign, and integers that are
# divided by 0 give 0.
FUNCTIONS = """
template <class T>
__device__ T whole_quotient(T a, T b) {
  if (b == 0) return 0;
  if ((T)-1 < 0 && b == (T)-1) return (T)(0ull - (unsigned long long)a);
  return (T)(a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0));
}
template <class T>
__device__ T signed_remainder(T a, T b) {
  if (b == 0 || ((T)-1 < 0 && b == (T)-1)) return 0;
  T left = (T)(a % b);
  return left != 0 && ((left < 0) != (b < 0)) ? (T)(left + b) : left;
}
template <class T>
__device__ T whole_power(T a, T b) {
  unsigned long long product = 1, factor = (unsigned long long)a;
  for (unsigned long long left = (unsigned long long)b; left != 0; left >>= 1) {
    if (left & 1) product *= factor;
    factor *= factor;
  }
  return (T)product;
}
__device__ double signed_remainder(double a, double b) {
  double left = fmod(a, b);
  if (b == 0) return left;
  if (left == 0) return copysign(0.0, b);
  return (b < 0) != (left < 0) ? left + b : left;
}
__device__ float signed_remainder(float a, float b) {
  float left = fmodf(a, b);
  if (b == 0) return left;
  if (left == 0) return copysignf(0.0f, b);
  return (b < 0) != (left < 0) ? left + b : left;
}
__device__ double whole_quotient(double a, double b) {
  if (b == 0) return a / b;
  double left = fmod(a, b), quotient = (a - left) / b;
  if (left != 0 && (b < 0) != (left < 0)) quotient -= 1;
  if (quotient == 0) return copysign(0.0, a / b);
  double whole = floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}
__device__ float whole_quotient(float a, float b) {
  if (b == 0) return a / b;
  float left = fmodf(a, b), quotient = (a - left) / b;
  if (left != 0 && (b < 0) != (left < 0)) quotient -= 1;
  if (quotient == 0) return copysignf(0.0f, a / b);
  float whole = floorf(quotient);
  return quotient - whole > 0.5f ? whole + 1 : whole;
}
__device__ int compare(long long a, unsigned long long b) {
  return a < 0 || (unsigned long long)a < b ? -1 : (unsigned long long)a > b;
}
"""
