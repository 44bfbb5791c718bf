# SPDX-License-Identifier: Apache-2.0
"""Program, ObjectCode, Kernel, LaunchConfig and launch."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

import anyplace

from .. import _shared
from ._errors import CUDAError, core_errors
from ._memory import Buffer
from ._streams import stream_of


@dataclasses.dataclass
class ProgramOptions:
    """What is passed on: define_macro, include_path, debug, use_fast_math, name. The rest is for NVIDIA's compiler."""

    name: str = "default_program"
    arch: str | None = None
    std: str | None = None
    include_path: Any = None
    define_macro: Any = None
    debug: bool | None = None
    lineinfo: bool | None = None
    use_fast_math: bool | None = None
    fma: bool | None = None
    max_register_count: int | None = None
    relocatable_device_code: bool | None = None
    extra_device_vectorization: bool | None = None
    ftz: bool | None = None
    prec_sqrt: bool | None = None
    prec_div: bool | None = None


def _words(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(each, str) for each in value):
        return [f"{value[0]}={value[1]}"]
    return [word for each in value for word in _words(each)]


class Program:
    """A source in CUDA C++, to be compiled for the current device."""

    def __init__(self, code: str, code_type: str, options: Any = None) -> None:
        if code_type.lower() != "c++":
            raise NotImplementedError(
                f"Program: {code_type!r} isn't compiled here, 'c++' is; docs/compat.md lists what there is"
            )
        if not isinstance(code, str):
            raise TypeError("code: it is a str")
        self._code = code
        self._options: ProgramOptions = (
            ProgramOptions(**options) if isinstance(options, dict) else options or ProgramOptions()
        )

    @property
    def backend(self) -> str:
        return "anyplace"

    @core_errors
    def compile(
        self, target_type: str, name_expressions: Any = (), logs: Any = None, *, cache: Any = None
    ) -> ObjectCode:
        """Compiles and loads. The target type is kept as a word: the image is what the current device takes."""
        if target_type not in ("cubin", "ptx", "ltoir"):
            raise ValueError(f"Unsupported target_type='{target_type}'; cubin, ptx and ltoir are known")
        options = self._options
        try:
            includes = (
                [options.include_path] if isinstance(options.include_path, str) else list(options.include_path or ())
            )
            module = anyplace.Module.compile(
                _shared.current(),
                self._code,
                name=options.name,
                defines=_words(options.define_macro),
                includes=includes,
                fast_math=bool(options.use_fast_math),
                debug=bool(options.debug),
                name_expressions=list(name_expressions),
            )
        except anyplace.CompileError as error:
            if logs is not None:
                logs.write(error.vendor_text)
            raise CUDAError(f"the program can't be compiled:\n{error.vendor_text or error.problem}") from error
        return ObjectCode._of(module, target_type, options.name)

    def close(self) -> None:
        """Nothing is left to give up."""


class ObjectCode:
    """Code that is loaded on the device that was current."""

    _module: anyplace.Module
    _code_type: str
    _name: str

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise RuntimeError(
            "ObjectCode objects cannot be instantiated directly. Please use ObjectCode APIs (from_cubin, from_ptx) or "
            "Program APIs (compile)."
        )

    @classmethod
    def _of(cls, module: anyplace.Module, code_type: str, name: str) -> ObjectCode:
        made = cls.__new__(cls)
        made._module, made._code_type, made._name = module, code_type, name
        return made

    @classmethod
    @core_errors
    def _load(cls, module: bytes | str, code_type: str, name: str) -> ObjectCode:
        device = _shared.current()
        loaded = (
            anyplace.Module.from_file(device, module) if isinstance(module, str) else anyplace.Module(device, module)
        )
        return cls._of(loaded, code_type, name)

    @classmethod
    def from_cubin(cls, module: bytes | str, *, name: str = "", symbol_mapping: Any = None) -> ObjectCode:
        return cls._load(module, "cubin", name)

    @classmethod
    def from_ptx(cls, module: bytes | str, *, name: str = "", symbol_mapping: Any = None) -> ObjectCode:
        return cls._load(module, "ptx", name)

    @classmethod
    def from_fatbin(cls, module: bytes | str, *, name: str = "", symbol_mapping: Any = None) -> ObjectCode:
        return cls._load(module, "fatbin", name)

    from_ltoir = _shared.refusing("ObjectCode.from_ltoir", "nothing is linked here")
    from_object = from_library = from_ltoir

    @property
    def name(self) -> str:
        return self._name

    @property
    def code_type(self) -> str:
        return self._code_type

    @core_errors
    def get_kernel(self, name: str | bytes) -> Kernel:
        text = name.decode() if isinstance(name, bytes) else name
        return Kernel._of(self._module.kernel(text), self)


class KernelAttributes:
    """A kernel's attributes; what the vendor can't tell is 0."""

    def __init__(self, kernel: anyplace.Kernel) -> None:
        self._facts = kernel.attributes

    def _fact(self, name: str) -> int:
        return self._facts[name] or 0

    def max_threads_per_block(self, device_id: Any = None) -> int:
        return self._fact("max_threads_per_block")

    def shared_size_bytes(self, device_id: Any = None) -> int:
        return self._fact("shared_bytes")

    def const_size_bytes(self, device_id: Any = None) -> int:
        return self._fact("constant_bytes")

    def local_size_bytes(self, device_id: Any = None) -> int:
        return self._fact("local_bytes")

    def num_regs(self, device_id: Any = None) -> int:
        return self._fact("registers")


class KernelOccupancy:
    """How many blocks of a kernel run at once."""

    def __init__(self, kernel: anyplace.Kernel) -> None:
        self._kernel = kernel

    def max_active_blocks_per_multiprocessor(self, block_size: int, dynamic_shared_memory_size: int) -> int:
        return int(self._kernel.max_active_blocks(block_size, dynamic_shared_memory_size))


class Kernel:
    """A kernel of ObjectCode, which it keeps."""

    _kernel: anyplace.Kernel
    _code: ObjectCode

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise RuntimeError("Kernel objects cannot be instantiated directly. Please use ObjectCode APIs (get_kernel).")

    @classmethod
    def _of(cls, kernel: anyplace.Kernel, code: ObjectCode) -> Kernel:
        made = cls.__new__(cls)
        made._kernel, made._code = kernel, code
        return made

    @property
    def attributes(self) -> KernelAttributes:
        return KernelAttributes(self._kernel)

    @property
    def occupancy(self) -> KernelOccupancy:
        return KernelOccupancy(self._kernel)

    @property
    def handle(self) -> int:
        return self._kernel.native_handle() if _shared.is_cuda_like() else id(self._kernel)

    @property
    def num_arguments(self) -> int:
        raise NotImplementedError(
            "Kernel.num_arguments: images don't tell their kernels' arguments; docs/compat.md lists what there is"
        )

    arguments_info = num_arguments


def _three(sizes: Any, name: str) -> tuple[int, ...]:
    found = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if not 1 <= len(found) <= 3 or any(
        isinstance(each, bool) or not isinstance(each, int) or each < 1 for each in found
    ):
        raise ValueError(f"LaunchConfig.{name} is an int, or up to three of them, each at least 1; not {sizes!r}")
    return (*found, 1, 1)[:3]


@dataclasses.dataclass
class LaunchConfig:
    """The sizes that a kernel runs over."""

    grid: Any = None
    block: Any = None
    cluster: Any = None
    shmem_size: int = 0
    is_cooperative: bool = False

    def __post_init__(self) -> None:
        self.grid = _three(self.grid, "grid")
        self.block = _three(self.block, "block")
        if self.cluster is not None:
            raise NotImplementedError(
                "LaunchConfig.cluster: there are no clusters of blocks here; docs/compat.md lists what there is"
            )
        if self.is_cooperative:
            raise NotImplementedError(
                "LaunchConfig.is_cooperative: launches of cooperating blocks aren't there; "
                "docs/compat.md lists what there is"
            )


def _argument(value: Any) -> Any:
    if isinstance(value, Buffer):
        return value._memory if isinstance(value._memory, anyplace.Buffer) else value._address
    if isinstance(value, complex):
        return (ctypes.c_double * 2)(value.real, value.imag)
    return value


@core_errors
def launch(stream: Any, config: LaunchConfig, kernel: Kernel, *kernel_args: Any) -> None:
    """Launches in the order of the stream. Arguments are Buffers, int (64 bits), float (double), bool, and scalars of
    NumPy and ctypes."""
    if not isinstance(config, LaunchConfig):
        raise TypeError("config: it is a LaunchConfig")
    arguments = [_argument(each) for each in kernel_args]
    stream_of(stream).launch(kernel._kernel, config.grid, config.block, *arguments, shared_bytes=config.shmem_size)


Linker = _shared.refusing("Linker", "images are made whole; nothing is linked")
LinkerOptions = _shared.refusing("LinkerOptions", "images are made whole; nothing is linked")
