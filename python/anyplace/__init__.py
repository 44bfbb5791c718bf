# SPDX-License-Identifier: Apache-2.0
"""anyplace: pick a device by a string and run on it.

    import anyplace

    stream = anyplace.Stream("cpu_sim:0")                  # or "cuda:0", "hip:1", "levelzero:0", "auto"
    module = anyplace.Module.compile(stream.device, '''
        extern "C" __global__ void scale(float* numbers, float by) { numbers[threadIdx.x] *= by; }''')
    scale = module.kernel("scale", ["pointer", "f32"])
    data = anyplace.Buffer(stream, 16)
    stream.copy(data, struct.pack("4f", 1, 2, 3, 4))       # submitted, not done
    scale[1, 4](stream, data, 10.0)
    host = bytearray(16)
    stream.copy(host, data)
    stream.synchronize()                                   # done

Importing loads no driver: a backend is loaded when its name is first used.
"""

from . import annotate, comm, ipc, layers, memory, monitor, random
from ._command import cmake_prefix, doctor
from ._core import (
    Allocator,
    Array,
    Bootstrap,
    Buffer,
    Communicator,
    Device,
    Event,
    Graph,
    GraphPool,
    HostBuffer,
    HostRegistration,
    Kernel,
    MemoryPool,
    Module,
    Plugin,
    Stream,
    backends,
    current_device,
    current_stream,
    devices,
    from_dlpack,
    plugins,
    pointer_attributes,
    register_plugin,
    set_allocator,
    set_current_device,
    set_current_stream,
)
from ._core import version as __version__
from ._creation import asarray, empty, full, pinned_empty, zeros
from ._errors import (
    ClosedError,
    CompileError,
    DeviceLostError,
    Error,
    InvalidArgumentError,
    NoDeviceError,
    OutOfMemoryError,
    StreamFault,
    UnsupportedError,
)

__all__ = [
    "Allocator",
    "Array",
    "Bootstrap",
    "Buffer",
    "ClosedError",
    "Communicator",
    "CompileError",
    "Device",
    "DeviceLostError",
    "Error",
    "Event",
    "Graph",
    "GraphPool",
    "HostBuffer",
    "HostRegistration",
    "InvalidArgumentError",
    "Kernel",
    "MemoryPool",
    "Module",
    "NoDeviceError",
    "OutOfMemoryError",
    "Plugin",
    "Stream",
    "StreamFault",
    "UnsupportedError",
    "__version__",
    "annotate",
    "asarray",
    "backends",
    "cmake_prefix",
    "comm",
    "current_device",
    "current_stream",
    "devices",
    "doctor",
    "empty",
    "from_dlpack",
    "full",
    "ipc",
    "layers",
    "memory",
    "monitor",
    "pinned_empty",
    "plugins",
    "pointer_attributes",
    "random",
    "register_plugin",
    "set_allocator",
    "set_current_device",
    "set_current_stream",
    "zeros",
]
