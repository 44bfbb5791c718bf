#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""anyplace in one process with another library that has the same device: each uses the other's memory and streams.

  bench/interop/interop.py --with torch|cupy|driver [--place cuda:0] [--library FILE]

FILE is libbench_interop.so of a build with ANYPLACE_BENCH=ON. "driver" is libcuda.so.1 itself, called from here; it needs nothing
of Python's packages. The last line counts: "N passed, N failed". Exit status 0, 1, or 2 if the other library isn't there."""
import argparse
import ctypes
import os
import sys

COUNT = 1 << 16  # elements of 32 bits


class Absent(Exception):
    pass


class Torch:
    def __init__(self, index):
        try:
            import torch
        except ImportError as error:
            raise Absent(f"no torch: {error}")
        if not torch.cuda.is_available():
            raise Absent("torch sees no CUDA device")
        self.torch, self.device = torch, torch.device("cuda", index)
        self.name = f"torch {torch.__version__}"
        torch.cuda.set_device(self.device)
        self.data = torch.zeros(COUNT, dtype=torch.int32, device=self.device)
        self.side = torch.cuda.Stream(self.device)
        self.side.wait_stream(torch.cuda.current_stream(self.device))

    def address(self):
        return self.data.data_ptr()

    def stream(self):
        return self.side.cuda_stream

    def fill(self, value, stream=None):
        with self.torch.cuda.stream(self.torch.cuda.ExternalStream(stream, self.device) if stream else self.side):
            self.data.fill_(value)

    def read(self):
        with self.torch.cuda.stream(self.side):
            return set(self.data.cpu().tolist())

    def context(self):
        return None

    def wait_event(self, event):
        # torch has no view of a foreign event; the driver's own call on torch's stream.
        Driver.library().cuStreamWaitEvent(ctypes.c_void_p(self.stream()), ctypes.c_void_p(event), 0)


class Cupy:
    def __init__(self, index):
        try:
            import cupy
            cupy.cuda.Device(index).use()
        except Exception as error:  # it says in many ways that it isn't there
            raise Absent(f"no cupy: {error}")
        self.cupy = cupy
        self.name = f"cupy {cupy.__version__}"
        self.data = cupy.zeros(COUNT, dtype=cupy.int32)
        cupy.cuda.Device(index).synchronize()
        self.side = cupy.cuda.Stream(non_blocking=True)

    def address(self):
        return self.data.data.ptr

    def stream(self):
        return self.side.ptr

    def fill(self, value, stream=None):
        with self.cupy.cuda.ExternalStream(stream) if stream else self.side:
            self.data.fill(value)

    def read(self):
        with self.side:
            out = self.cupy.asnumpy(self.data, stream=self.side)
        self.side.synchronize()
        return set(out.tolist())

    def context(self):
        return None

    def wait_event(self, event):
        self.cupy.cuda.runtime.streamWaitEvent(self.side.ptr, event, 0)


class Driver:
    """The driver API, as a library in the same process would use it: on the primary context."""
    @staticmethod
    def library():
        try:
            return ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Absent(f"no driver: {error}")

    def __init__(self, index):
        self.cu = self.library()
        version, device = ctypes.c_int(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.name = f"driver API {version.value // 1000}.{version.value % 1000 // 10}"
        self.call("cuDeviceGet", ctypes.byref(device), index)
        self.own_context, self.memory, self.side = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.own_context), device)
        self.call("cuCtxSetCurrent", self.own_context)
        self.call("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(COUNT * 4))
        self.call("cuStreamCreate", ctypes.byref(self.side), 1)

    def call(self, name, *arguments):
        result = getattr(self.cu, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name} gives {result}")

    def address(self):
        return self.memory.value

    def stream(self):
        return self.side.value

    def fill(self, value, stream=None):
        self.call("cuMemsetD32Async", self.memory, ctypes.c_uint(value), ctypes.c_size_t(COUNT),
                  ctypes.c_void_p(stream) if stream else self.side)

    def read(self):
        host = (ctypes.c_uint32 * COUNT)()
        self.call("cuMemcpyDtoHAsync_v2", host, self.memory, ctypes.c_size_t(COUNT * 4), self.side)
        self.call("cuStreamSynchronize", self.side)
        return set(host)

    def context(self):
        current = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(current))
        return current.value

    def wait_event(self, event):
        self.call("cuStreamWaitEvent", self.side, ctypes.c_void_p(event), 0)


class Anyplace:
    def __init__(self, library, place):
        self.library, self.place = ctypes.CDLL(library), place.encode()
        self.library.interop_last_error.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        if getattr(self.library, "interop_" + name)(*arguments) != 0:
            raise RuntimeError(f"{name}: {self.library.interop_last_error().decode()}")

    def number(self, name, *arguments):
        out = ctypes.c_uint64()
        self.call(name, *arguments, ctypes.byref(out))
        return out.value

    def context(self):
        return self.number("context", self.place)

    def fill(self, other, value):
        self.call("fill", self.place, ctypes.c_uint64(other.stream()), ctypes.c_uint64(other.address()),
                  ctypes.c_uint64(COUNT * 4), ctypes.c_uint32(value))

    def read(self, other):
        host = (ctypes.c_uint32 * COUNT)()
        self.call("read", self.place, ctypes.c_uint64(other.stream()), ctypes.c_uint64(other.address()), host,
                  ctypes.c_uint64(COUNT * 4))
        return set(host)


def expect(found, wanted):
    if found != wanted:
        raise RuntimeError(f"found {found}, expected {wanted}")


def filled_by_anyplace(ours, other):
    for value in (7, 8):
        ours.fill(other, value)
        expect(other.read(), {value})


def filled_by_the_other(ours, other):
    for value in (21, 22):
        other.fill(value)
        expect(ours.read(other), {value})


def on_a_stream_of_anyplace(ours, other):
    stream = ours.number("make_stream", ours.place)
    other.fill(33, stream)
    other.wait_event(ours.number("record"))
    expect(other.read(), {33})
    ours.call("synchronize")
    ours.call("end")
    expect(other.read(), {33})


def context_is_shared(ours, other):
    before = other.context()
    expect(ours.context() != 0, True)
    ours.fill(other, 1)
    after = other.context()
    expect(after, before)
    if before is not None:
        expect(ours.context(), before)


CASES = {
    "anyplace fills memory of the other on a stream of the other": filled_by_anyplace,
    "anyplace reads what the other wrote, after the stream of the other": filled_by_the_other,
    "the other works on a stream of anyplace's and waits for an event of anyplace's": on_a_stream_of_anyplace,
    "the context is shared, and the thread's current one is as it was": context_is_shared,
}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--with", dest="other", choices=["torch", "cupy", "driver"], required=True)
    parser.add_argument("--place", default="cuda:0")
    parser.add_argument("--library", default=os.path.join(here, "../../build/bench/interop/libbench_interop.so"))
    options = parser.parse_args()
    index = int(options.place.partition(":")[2] or 0)
    try:
        other = {"torch": Torch, "cupy": Cupy, "driver": Driver}[options.other](index)
    except Absent as absent:
        print(f"skipped: {absent}")
        return 2
    print(f"{options.place}, {other.name}")
    ours = Anyplace(options.library, options.place)
    failed = 0
    for name, case in CASES.items():
        try:
            case(ours, other)
            print(f"passed  {name}")
        except Exception as error:  # whatever it is, the next case is tried
            failed += 1
            print(f"FAILED  {name}: {error}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
