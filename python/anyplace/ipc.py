# SPDX-License-Identifier: Apache-2.0
"""Memory and events that several processes of one machine use. docs/ipc.md says what to rely on.

A Buffer, an Event that was made with interprocess=True, a Device and an Array can be pickled, so multiprocessing passes
them to processes that are spawned or come from a forkserver; a forked one can't use the library. A pickle isn't a copy:
it opens the memory itself, as long as the object that it was made of lives. So keep that until the other process says
that it has opened it. Work that is pending isn't waited for: pass an Event along, or synchronize.
"""

from __future__ import annotations

from ._core import (
    Array,
    Buffer,
    Event,
    current_stream,
    export_buffer,
    export_event,
    import_array,
    import_buffer,
    import_event,
)
from ._core import ipc_collect as collect

__all__ = ["collect", "export_buffer", "export_event", "import_buffer", "import_event"]


def _open_buffer(place: str, handle: bytes) -> Buffer:
    return import_buffer(current_stream(place), handle)


def _open_event(place: str, handle: bytes) -> Event:
    return import_event(place, handle)


def _open_array(place: str, handle: bytes, dtype: str, shape: list[int], strides: list[int], offset: int) -> Array:
    return import_array(current_stream(place), handle, dtype, shape, strides, offset)
