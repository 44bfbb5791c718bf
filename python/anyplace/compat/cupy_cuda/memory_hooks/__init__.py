# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.memory_hooks: hooks that print."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

from ..memory_hook import MemoryHook

__all__ = ["DebugPrintHook", "LineProfileHook"]


class DebugPrintHook(MemoryHook):
    """Prints a line of JSON for each alloc, malloc and free."""

    name = "DebugPrintHook"

    def __init__(self, file: Any = sys.stdout, flush: bool = True) -> None:
        self.file = file
        self.flush = flush

    def _print(self, hook: str, **figures: Any) -> None:
        if "pmem_id" in figures:
            figures["pmem_id"] = hex(figures["pmem_id"])
        self.file.write(json.dumps({"hook": hook, **figures}) + "\n")
        if self.flush:
            self.file.flush()

    def alloc_postprocess(self, **kwargs: Any) -> None:
        self._print("alloc", **kwargs)

    def malloc_postprocess(self, **kwargs: Any) -> None:
        self._print("malloc", **kwargs)

    def free_postprocess(self, **kwargs: Any) -> None:
        self._print("free", **kwargs)


class _Frame:
    """The bytes that one line of a program used and got, with the lines that it called."""

    def __init__(self, where: tuple[str, int, str] | None) -> None:
        self.where = where
        self.used_bytes = 0
        self.acquired_bytes = 0
        self.children: dict[tuple[str, int, str], _Frame] = {}


def _readable(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if amount < 1024.0 or unit == "TB":
            return f"{amount:.2f}{unit}"
        amount /= 1024.0
    raise AssertionError


class LineProfileHook(MemoryHook):
    """Sums what each line of the program used of the pool, and what the pool got from the device for it."""

    name = "LineProfileHook"

    def __init__(self, max_depth: int = 0) -> None:
        self._root = _Frame(None)
        self._max_depth = max_depth

    def malloc_preprocess(self, **kwargs: Any) -> None:
        self._add(used=kwargs["mem_size"], acquired=0)

    def alloc_preprocess(self, **kwargs: Any) -> None:
        self._add(used=0, acquired=kwargs["mem_size"])

    def _add(self, used: int, acquired: int) -> None:
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        frames = [each for each in traceback.extract_stack() if not each.filename.startswith(package)]
        if self._max_depth:
            frames = frames[: self._max_depth - 1]
        frame = self._root
        frame.used_bytes += used
        frame.acquired_bytes += acquired
        for each in frames:
            where = (each.filename, each.lineno or 0, each.name)
            frame = frame.children.setdefault(where, _Frame(where))
            frame.used_bytes += used
            frame.acquired_bytes += acquired

    def print_report(self, file: Any = sys.stdout) -> None:
        """Prints the lines as a tree, each with (used, acquired)."""
        self._print(self._root, 0, file)
        file.flush()

    def _print(self, frame: _Frame, depth: int, file: Any) -> None:
        name = "_root" if frame.where is None else "{}:{}:{}".format(*frame.where)
        file.write(f"{' ' * depth * 4}{name} ({_readable(frame.used_bytes)}, {_readable(frame.acquired_bytes)})\n")
        for child in frame.children.values():
            self._print(child, depth + 1, file)
