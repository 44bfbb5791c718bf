# SPDX-License-Identifier: Apache-2.0
"""numpy_check.py LIBRARY: arrays of cpu_sim in NumPy (numpy.from_dlpack), and NumPy's here, through the library made of
numpy_side.cpp. Exit status: 0 all is right, 1 not; where there is no NumPy it says so, and counts as skipped."""
import ctypes
import sys

try:
    import numpy
except ImportError:
    print("ANYPLACE_TEST_SKIPPED: this Python has no NumPy (pip install numpy)")
    sys.exit(0)

side = ctypes.CDLL(sys.argv[1])
side.numpy_side_export.restype = side.numpy_side_export_read_only.restype = ctypes.c_void_p
side.numpy_side_sum.argtypes, side.numpy_side_sum.restype = [ctypes.c_void_p, ctypes.c_int], ctypes.c_double
api = ctypes.pythonapi
api.PyCapsule_New.argtypes, api.PyCapsule_New.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
api.PyCapsule_GetPointer.argtypes, api.PyCapsule_GetPointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_IsValid.argtypes, api.PyCapsule_IsValid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
USED = {True: b"used_dltensor_versioned", False: b"used_dltensor"}  # what a consumer renames them to; a capsule keeps the address


class Exporter:
    """An array of cpu_sim's, as Python's array API standard has exporters."""

    def __init__(self, has_version, read_only=False):
        self.has_version, self.read_only = has_version, read_only

    def __dlpack_device__(self):
        return (1, 0)  # kDLCPU

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        if self.has_version and max_version is None:
            raise BufferError("this NumPy asks for no version")
        tensor = side.numpy_side_export_read_only() if self.read_only else side.numpy_side_export(self.has_version)
        return api.PyCapsule_New(tensor, NAMES[self.has_version], None)


def check(holds, what):
    if not holds:
        sys.exit(f"not so: {what}")


def check_out(exporter):
    array = numpy.from_dlpack(exporter)
    check(array.dtype == numpy.float32 and array.shape == (4, 3) and array.strides == (4, 16), f"{array.dtype} {array.strides}")
    check((array == numpy.arange(12, dtype=numpy.float32).reshape(3, 4).T).all(), array)
    return array


def check_in(**how):
    numbers = numpy.arange(1.0, 21.0)[::2]
    capsule = numbers.__dlpack__(**how)
    has_version = bool(api.PyCapsule_IsValid(capsule, NAMES[True]))
    tensor = api.PyCapsule_GetPointer(capsule, NAMES[has_version])
    api.PyCapsule_SetName(capsule, USED[has_version])
    before = sys.getrefcount(numbers)
    check(side.numpy_side_sum(tensor, has_version) == numbers.sum(), how)
    check(sys.getrefcount(numbers) == before - 1, "NumPy's deleter was called")
    return has_version


check_out(Exporter(False))
check(not check_in(), "an exporter that isn't asked for a version gives none")
ways = "without a version"
if tuple(int(part) for part in numpy.__version__.split(".")[:2]) >= (2, 1):
    check_out(Exporter(True))
    check(not check_out(Exporter(True, True)).flags.writeable, "what is read-only stays so")
    check(check_in(max_version=(1, 0)), "it gives the version that it is asked for")
    ways = "with and without a version"
print(f"NumPy {numpy.__version__}: arrays go out and come in, {ways}")
