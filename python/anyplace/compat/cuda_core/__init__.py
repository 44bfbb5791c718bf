# SPDX-License-Identifier: Apache-2.0
"""cuda.core's names over anyplace. docs/compat.md has each of them, and where it differs."""

from __future__ import annotations

from .. import _shared as _compat
from ._device import ComputeCapability, Device, DeviceProperties
from ._errors import CUDAError
from ._graphs import Graph, GraphBuilder, GraphDefinition
from ._kernels import (
    Kernel,
    LaunchConfig,
    Linker,
    LinkerOptions,
    ObjectCode,
    Program,
    ProgramOptions,
    launch,
)
from ._memory import (
    Buffer,
    DeviceMemoryResource,
    DeviceMemoryResourceOptions,
    GraphMemoryResource,
    LegacyPinnedMemoryResource,
    ManagedMemoryResource,
    MemoryResource,
    PinnedMemoryResource,
    PinnedMemoryResourceOptions,
    VirtualMemoryResource,
)
from ._streams import (
    LEGACY_DEFAULT_STREAM,
    PER_THREAD_DEFAULT_STREAM,
    Context,
    Event,
    EventOptions,
    Stream,
    StreamOptions,
)

ContextOptions = _compat.refusing("ContextOptions", "a device has its primary context")
StridedMemoryView = _compat.refusing("StridedMemoryView", "anyplace.from_dlpack takes other libraries' arrays")
args_viewable_as_strided_memory = _compat.refusing(
    "args_viewable_as_strided_memory", "anyplace.from_dlpack takes other libraries' arrays"
)

__all__ = [
    "Buffer",
    "CUDAError",
    "ComputeCapability",
    "Context",
    "ContextOptions",
    "Device",
    "DeviceMemoryResource",
    "DeviceMemoryResourceOptions",
    "DeviceProperties",
    "Event",
    "EventOptions",
    "Graph",
    "GraphBuilder",
    "GraphDefinition",
    "GraphMemoryResource",
    "Kernel",
    "LEGACY_DEFAULT_STREAM",
    "LaunchConfig",
    "LegacyPinnedMemoryResource",
    "Linker",
    "LinkerOptions",
    "ManagedMemoryResource",
    "MemoryResource",
    "ObjectCode",
    "PER_THREAD_DEFAULT_STREAM",
    "PinnedMemoryResource",
    "PinnedMemoryResourceOptions",
    "Program",
    "ProgramOptions",
    "Stream",
    "StreamOptions",
    "StridedMemoryView",
    "VirtualMemoryResource",
    "args_viewable_as_strided_memory",
    "launch",
]
