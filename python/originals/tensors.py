# SPDX-License-Identifier: Apache-2.0
"""Tensors for the originals' samples: NumPy's functions, called by host functions of anyplace's current stream.

So a sample that orders its streams wrongly has a wrong result, or none, on any backend.
"""

import types

import numpy

import anyplace
from anyplace import compat


def _place():
    return f"{compat.backend()}:0"


class Tensor:
    """An array that is there once its stream's work is done."""

    def __init__(self, values, dtype=None):
        self._values = numpy.array(values, dtype)

    @classmethod
    def computed(cls, function, *operands, device=None, **options):
        made = cls.__new__(cls)
        made._values = None

        def compute():
            values = [each._values if isinstance(each, Tensor) else each for each in operands]
            made._values = function(*values, **options)

        anyplace.current_stream(_place()).launch_host_func(compute)
        return made

    def get(self, out=None):
        """The array, or a copy into `out` in the current stream's order."""
        if out is None:
            anyplace.Device(_place()).synchronize()
            assert self._values is not None, "what is computed reads what isn't there yet: the streams are ordered wrongly"
            return self._values
        return Tensor.computed(numpy.copyto, out, self)

    def set(self, values):
        Tensor.computed(numpy.copyto, self, values)

    def __add__(self, other):
        return Tensor.computed(numpy.add, self, other)

    def __mul__(self, other):
        return Tensor.computed(numpy.multiply, self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __str__(self):
        return str(self.get())

    def __array__(self, dtype=None, copy=None):
        return numpy.asarray(self.get(), dtype)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.get(), name)


def functions(source=numpy, **others):
    """What a module's __getattr__ needs to have NumPy's functions, and `others`, for tensors."""

    def member(name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = others[name] if name in others else getattr(source, name)
        if isinstance(found, types.ModuleType):
            made = types.ModuleType(found.__name__)
            made.__getattr__ = functions(found)
            return made
        if isinstance(found, type) or not callable(found):
            return found
        return lambda *operands, **options: Tensor.computed(found, *operands, **options)

    return member
