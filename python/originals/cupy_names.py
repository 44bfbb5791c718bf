# SPDX-License-Identifier: Apache-2.0
"""A plugin for pytest: CuPy's own tests find anyplace.compat.cupy_cuda where they import cupy.cuda.

They also use a little of the rest of CuPy. What is about memory is here: an array that is allocated, filled and copied.
A test that computes with arrays is skipped, with the name that it needed.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import types
import unittest
import warnings

import numpy
import pytest
from stand_ins import Refusals, module, skip_for

from anyplace import compat
from anyplace.compat import cupy_cuda


class Array:
    """Memory with a shape and a type; no arithmetic."""

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = numpy.dtype(dtype)
        self.size = int(numpy.prod(self.shape, dtype=int))
        self.nbytes = self.size * self.dtype.itemsize
        self.data = cupy_cuda.alloc(self.nbytes) if memptr is None else memptr

    def set(self, values, stream=None):
        values = numpy.ascontiguousarray(values, self.dtype)
        self.data.copy_from_host_async(values.ctypes.data, self.nbytes, stream)
        (stream or cupy_cuda.get_current_stream()).synchronize()

    def get(self, stream=None, order="C", out=None, blocking=True):
        values = numpy.empty(self.shape, self.dtype) if out is None else out
        self.data.copy_to_host_async(values.ctypes.data, self.nbytes, stream)
        if blocking:
            (stream or cupy_cuda.get_current_stream()).synchronize()
        return values

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        pytest.skip(f"needs arithmetic of CuPy's arrays: ndarray.{name}")

    def _needs_arithmetic(self, *args):
        pytest.skip("needs arithmetic of CuPy's arrays")

    __add__ = __radd__ = __iadd__ = __mul__ = __rmul__ = __pow__ = __sub__ = __truediv__ = _needs_arithmetic
    __getitem__ = __setitem__ = __eq__ = __lt__ = __gt__ = _needs_arithmetic


def _compiled(kind):
    """RawKernel or RawModule, where the device takes what the compiler makes; a double takes nothing."""
    if compat.backend() == "cpu_sim":
        return kind
    return lambda *args, **keywords: pytest.skip("needs a compiled kernel, which no double takes")


def _array(values, dtype=None):
    values = numpy.array(values, dtype)
    made = Array(values.shape, values.dtype)
    made.set(values)
    return made


def _empty(shape, dtype=float, **keywords):
    return Array(shape, dtype)


# -- cupy.testing.


def _parameterize(*parameters):
    def decorate(cls):
        if not issubclass(cls, unittest.TestCase):
            return pytest.mark.parametrize("_parameters", parameters)(cls)
        module = sys.modules[cls.__module__]
        for number, each in enumerate(parameters):
            # A function in a parameter stays a function when it is found in the class.
            members = {name: staticmethod(value) if callable(value) else value for name, value in each.items()}
            name = f"{cls.__name__}_{number}"
            setattr(module, name, type(name, (cls,), {**members, "__module__": cls.__module__}))
        return None

    return decorate


def _product(parameter):
    keys = sorted(parameter)
    return [dict(zip(keys, values)) for values in itertools.product(*(parameter[key] for key in keys))]


def _multi_gpu(number):
    return pytest.mark.skipif(cupy_cuda.runtime.getDeviceCount() < number, reason=f"{number} devices are needed")


@contextlib.contextmanager
def _assert_warns(expected):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert any(isinstance(each.message, expected) for each in caught), f"{expected.__name__} wasn't given"


def _shaped_random(shape, xp=None, dtype=numpy.float32, **keywords):
    return _array(numpy.random.default_rng(0).random(shape), dtype)


def _install():
    testing = module(
        "cupy.testing",
        parameterize=_parameterize,
        product=_product,
        multi_gpu=_multi_gpu,
        slow=pytest.mark.slow,
        assert_warns=_assert_warns,
        shaped_random=_shaped_random,
        assert_array_equal=lambda a, b: numpy.testing.assert_array_equal(_host(a), _host(b)),
        AssertionError=AssertionError,
    )
    testing.__getattr__ = skip_for("cupy.testing")
    from_data = module("cupy._creation.from_data", array=_array)
    creation = module("cupy._creation", from_data=from_data)
    top = module(
        "cupy",
        cuda=cupy_cuda,
        testing=testing,
        _creation=creation,
        ndarray=Array,
        array=_array,
        empty=_empty,
        zeros=lambda shape, dtype=float: _array(numpy.zeros(shape, dtype)),
        ones=lambda shape, dtype=float: _array(numpy.ones(shape, dtype)),
        arange=lambda *args, dtype=None: _array(numpy.arange(*args, dtype=dtype)),
        RawKernel=_compiled(cupy_cuda.RawKernel),
        RawModule=_compiled(cupy_cuda.RawModule),
        get_default_memory_pool=cupy_cuda.get_default_memory_pool,
        get_default_pinned_memory_pool=cupy_cuda.get_default_pinned_memory_pool,
        **{name: getattr(numpy, name) for name in ("int8", "uint8", "int32", "int64", "float32", "float64")},
    )
    top.__getattr__ = skip_for("cupy")
    module("cupyx").__getattr__ = skip_for("cupyx")
    sys.modules["cupy.cuda"] = cupy_cuda
    for name, member in list(vars(cupy_cuda).items()):
        if isinstance(member, types.ModuleType) and member.__name__.startswith("anyplace.compat.cupy_cuda."):
            sys.modules[f"cupy.cuda.{name}"] = member


def _host(array):
    return array.get() if isinstance(array, Array) else array


def pytest_configure(config):
    config.pluginmanager.register(Refusals())
    config.addinivalue_line("markers", "slow: takes long")
    config.addinivalue_line("markers", "thread_unsafe: not for several threads at once")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes most of a device's memory"))


_install()
