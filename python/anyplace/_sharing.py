# SPDX-License-Identifier: Apache-2.0
"""How buffers and events are pickled: as what another process of this machine opens. docs/ipc.md has the rules."""

from __future__ import annotations

import copyreg

from ._core import Buffer, Device, Event
from ._errors import Error


def _handle_of(thing: Buffer | Event, needed: str) -> tuple[Device, bytes]:
    try:
        return thing.device, thing.export_handle()
    except Error as error:
        raise TypeError(
            f"cannot pickle this {type(thing).__name__}: {error}; one that is made with {needed} can be"
        ) from error


def _reduce_buffer(buffer: Buffer) -> tuple[object, tuple[Device, bytes]]:
    return _open_buffer, _handle_of(buffer, "shareable=True")


def _reduce_event(event: Event) -> tuple[object, tuple[Device, bytes]]:
    return _open_event, _handle_of(event, "interprocess=True")


def _open_buffer(device: Device, handle: bytes) -> Buffer:
    return Buffer.import_handle(device, handle)


def _open_event(device: Device, handle: bytes) -> Event:
    return Event.import_handle(device, handle)


copyreg.pickle(Buffer, _reduce_buffer)  # type: ignore[arg-type]
copyreg.pickle(Event, _reduce_event)  # type: ignore[arg-type]
