# SPDX-License-Identifier: Apache-2.0
"""RawKernel and RawModule: kernels of a source in CUDA C++, compiled for each device at its first use."""

from __future__ import annotations

from typing import Any

import anyplace

from .. import _shared
from . import stream as _stream_module
from ._errors import CompileException, cupy_errors, driver_errors
from .device import get_device_id
from .memory import MemoryPointer, UnownedMemory


def _compile_options(options: tuple[str, ...]) -> dict[str, Any]:
    """NVRTC's words as options of Module.compile. Those that only matter to NVIDIA's compiler are left out."""
    found: dict[str, Any] = {"defines": [], "includes": []}
    words = list(options)
    while words:
        word = words.pop(0)
        if word in ("-D", "-I") and words:
            word += words.pop(0)
        name, _, value = word.partition("=")
        if word.startswith("-D"):
            found["defines"].append(word[2:])
        elif word.startswith("-I"):
            found["includes"].append(word[2:])
        elif name in ("--define-macro", "--include-path"):
            found["defines" if name == "--define-macro" else "includes"].append(value)
        elif word in ("--use_fast_math", "-use_fast_math"):
            found["fast_math"] = True
        elif word in ("-G", "--device-debug"):
            found["debug"] = True
    return found


def _argument(value: Any) -> Any:
    """What a launch takes for CuPy's argument: pointers and arrays as memory, all else as it is."""
    if isinstance(value, anyplace.Buffer | anyplace.Array | anyplace.HostBuffer):
        return value
    if hasattr(value, "__cuda_array_interface__"):
        return int(value.__cuda_array_interface__["data"][0])
    data = getattr(value, "data", None)
    if isinstance(data, MemoryPointer):
        value = data
    if isinstance(value, MemoryPointer):
        buffer = value.mem._buffer
        inside = buffer is not None and 0 <= value.ptr - buffer.address < buffer.nbytes
        return buffer[value.ptr - buffer.address :] if buffer is not None and inside else value.ptr
    if isinstance(value, complex):
        import struct

        return struct.pack("dd", value.real, value.imag)
    return value


def _sizes(sizes: Any) -> Any:
    return tuple(int(each) for each in sizes) if isinstance(sizes, tuple | list) else int(sizes)


class RawModule:
    """Code of a source or of a file, with kernels and variables."""

    def __init__(
        self,
        code: str | None = None,
        *,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Any = None,
        jitify: bool | None = None,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if path is not None and options:
            raise ValueError("options: they are for a source; the file is compiled already")
        if isinstance(options, str):
            raise TypeError("`options` should be a tuple or list of options")
        if backend not in ("nvrtc", "nvcc"):
            raise ValueError(f"backend: {backend!r} is none; nvrtc and nvcc are")
        if name_expressions is not None and isinstance(name_expressions, str):
            raise TypeError("name_expressions: it is a sequence of str")
        if enable_cooperative_groups:
            raise NotImplementedError("enable_cooperative_groups: launches of cooperating blocks aren't there")
        self.code = code
        self.file_path = path
        self.options = tuple(options)
        self.backend = backend
        self.name_expressions = list(name_expressions or ())
        self.enable_cooperative_groups = False
        self._modules: dict[int, anyplace.Module] = {}

    def compile(self, log_stream: Any = None) -> None:
        """Compiles for the current device; otherwise the first use does."""
        self._module()

    @property
    def module(self) -> anyplace.Module:
        return self._module()

    @cupy_errors
    def _module(self) -> anyplace.Module:
        index = get_device_id()
        if index in self._modules:
            return self._modules[index]
        device = _shared.device_at(index)
        if self.file_path is not None:
            module = anyplace.Module.from_file(device, self.file_path)
        else:
            assert self.code is not None
            try:
                module = anyplace.Module.compile(
                    device, self.code, name_expressions=self.name_expressions, **_compile_options(self.options)
                )
            except anyplace.CompileError as error:
                log = error.vendor_text or error.problem
                raise CompileException(log, self.code, "kernels.cu", self.options, self.backend) from error
        self._modules[index] = module
        return module

    @driver_errors
    def get_function(self, name: str) -> RawKernel:
        """The kernel of that name, or of one of name_expressions."""
        kernel = RawKernel(None, name, self.options, self.backend)
        kernel._raw_module = self
        kernel._kernel()
        return kernel

    @driver_errors
    def get_global(self, name: str) -> MemoryPointer:
        """A variable of the module."""
        address, size = self._module().variable(name)
        return MemoryPointer(UnownedMemory(address, size, self, get_device_id()), 0)


class RawKernel:
    """A kernel of a source: kernel(grid, block, args, shared_mem=0) launches it on the current stream."""

    def __init__(
        self,
        code: str | None,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:
        self.code = code
        self.name = name
        self.options = options
        self.backend = backend
        self.enable_cooperative_groups = enable_cooperative_groups
        self._kernels: dict[int, anyplace.Kernel] = {}
        self._raw_module: RawModule | None = None
        if code is not None:
            expressions = None if f" {name}(" in code or "<" not in name else (name,)
            self._raw_module = RawModule(
                code=code,
                options=options,
                backend=backend,
                enable_cooperative_groups=enable_cooperative_groups,
                name_expressions=expressions,
            )

    def compile(self, log_stream: Any = None) -> None:
        self._kernel()

    def _kernel(self) -> anyplace.Kernel:
        index = get_device_id()
        if index not in self._kernels:
            assert self._raw_module is not None
            self._kernels[index] = self._raw_module._module().kernel(self.name)
        return self._kernels[index]

    @property
    @driver_errors
    def kernel(self) -> anyplace.Kernel:
        return self._kernel()

    @driver_errors
    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
        stream = _stream_module.get_current_stream()._stream
        stream.launch(
            self._kernel(), _sizes(grid), _sizes(block), *[_argument(each) for each in args], shared_bytes=shared_mem
        )

    @property
    @driver_errors
    def attributes(self) -> dict[str, int]:
        facts = self._kernel().attributes
        device = _shared.device_at(get_device_id())
        major, minor = _shared.capability_of(device)
        return {
            "max_threads_per_block": facts["max_threads_per_block"] or 0,
            "shared_size_bytes": facts["shared_bytes"] or 0,
            "const_size_bytes": facts["constant_bytes"] or 0,
            "local_size_bytes": facts["local_bytes"] or 0,
            "num_regs": facts["registers"] or 0,
            "ptx_version": 10 * major + minor,
            "binary_version": 10 * major + minor,
            "cache_mode_ca": 0,
            "max_dynamic_shared_size_bytes": device.properties.max_shared_bytes,
            "preferred_shared_memory_carveout": -1,
        }

    def _attribute(self, name: str) -> int:
        attributes: dict[str, int] = self.attributes
        return attributes[name]

    max_threads_per_block = property(lambda self: self._attribute("max_threads_per_block"))
    shared_size_bytes = property(lambda self: self._attribute("shared_size_bytes"))
    const_size_bytes = property(lambda self: self._attribute("const_size_bytes"))
    local_size_bytes = property(lambda self: self._attribute("local_size_bytes"))
    num_regs = property(lambda self: self._attribute("num_regs"))
    ptx_version = property(lambda self: self._attribute("ptx_version"))
    binary_version = property(lambda self: self._attribute("binary_version"))
    cache_mode_ca = property(lambda self: self._attribute("cache_mode_ca"))

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        return self._attribute("max_dynamic_shared_size_bytes")

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        """Nothing is to be set: a launch asks for what it needs. The size has to be one that the device has."""
        if not 0 <= size <= self._attribute("max_dynamic_shared_size_bytes"):
            raise ValueError(f"the device has {self.max_dynamic_shared_size_bytes} bytes of shared memory for a block")

    @property
    def preferred_shared_memory_carveout(self) -> int:
        return -1

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, percent: int) -> None:
        """A hint that is not passed on. It is -1, or a percentage."""
        if not -1 <= percent <= 100:
            raise ValueError("preferred_shared_memory_carveout: it is -1, or from 0 to 100")
