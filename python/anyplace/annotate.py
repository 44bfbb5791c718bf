# SPDX-License-Identifier: Apache-2.0
"""Names for what a program does, shown by whatever profiler is there. docs/annotations.md says which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._core import annotate_mark as mark
from ._core import range_pop, range_push

__all__ = ["mark", "range", "range_pop", "range_push"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class range:
    """A range as long as a `with` statement, or as each call of the function that it decorates."""

    def __init__(self, name: str, *, color: int | None = None, payload: float | None = None, domain: str = "") -> None:
        if not isinstance(name, str):
            raise TypeError("name: it is a str")
        self._name = name
        self._color = color
        self._payload = payload
        self._domain = domain

    def __enter__(self) -> range:
        range_push(self._name, color=self._color, payload=self._payload, domain=self._domain)
        return self

    def __exit__(self, *exception: object) -> None:
        range_pop(domain=self._domain)

    def __call__(self, function: _Function) -> _Function:
        from functools import wraps

        @wraps(function)
        def ranged(*args: Any, **keywords: Any) -> Any:
            with self:
                return function(*args, **keywords)

        return ranged  # type: ignore[return-value]
