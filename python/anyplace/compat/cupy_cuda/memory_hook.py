# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.memory_hook: what is called around allocations of this thread."""

from __future__ import annotations

import threading
from typing import Any


class _ThreadHooks(threading.local):
    def __init__(self) -> None:
        self.hooks: dict[str, MemoryHook] = {}


_thread = _ThreadHooks()


def _get_memory_hooks() -> dict[str, MemoryHook]:
    """The hooks whose `with` statements this thread is in, by name."""
    return _thread.hooks


class MemoryHook:
    """Derive from it; `with hook:` has its methods called around allocations of this thread.

    alloc: memory is got from the device. malloc: memory is got from the pool. free: it goes back to the pool.
    """

    name = "MemoryHook"

    def __enter__(self) -> MemoryHook:
        if self.name in _thread.hooks:
            raise KeyError(f"memory hook {self.name} already exists")
        _thread.hooks[self.name] = self
        return self

    def __exit__(self, *exception: object) -> None:
        del _thread.hooks[self.name]

    def alloc_preprocess(self, **kwargs: Any) -> None:
        """device_id, mem_size."""

    def alloc_postprocess(self, **kwargs: Any) -> None:
        """device_id, mem_size, mem_ptr."""

    def malloc_preprocess(self, **kwargs: Any) -> None:
        """device_id, size, mem_size."""

    def malloc_postprocess(self, **kwargs: Any) -> None:
        """device_id, size, mem_size, mem_ptr, pmem_id."""

    def free_preprocess(self, **kwargs: Any) -> None:
        """device_id, mem_size, mem_ptr, pmem_id."""

    def free_postprocess(self, **kwargs: Any) -> None:
        """device_id, mem_size, mem_ptr, pmem_id."""


def _call_hooks(method: str, **kwargs: Any) -> None:
    if _thread.hooks:
        for hook in list(_thread.hooks.values()):
            getattr(hook, method)(**kwargs)
