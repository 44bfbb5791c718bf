# SPDX-License-Identifier: Apache-2.0
"""`await event` and `await stream`: one thread watches all events that any loop waits for.

The thread sleeps in the driver on the event that was awaited first, in slices, after which it looks at the others, and
wakes the loops by call_soon_threadsafe. A wait that is cancelled, or whose loop was closed, is dropped at the next look;
the work goes on. The thread is there from the first wait on, and ends with the interpreter.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Generator
from typing import Any

from ._core import Event, Stream

_SHORTEST, _LONGEST = 0.0001, 0.01  # seconds that pass before the other events are looked at


class _Waiting:
    """An event and the future that it completes, which belongs to a loop."""

    def __init__(self, event: Event, loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
        self.event = event
        self.loop = loop
        self.future = future

    def is_over(self, slice_: float) -> bool:
        """Waits for the event for a while. True if nobody has to wait for it any more; an open loop is told."""
        if self.future.cancelled() or self.loop.is_closed():
            return True
        try:
            if not (self.event.synchronize(slice_) if slice_ else self.event.query()):
                return False
            error = None
        except Exception as raised:  # a lost device; it goes to who waits
            error = raised
        try:
            self.loop.call_soon_threadsafe(_complete, self.future, error)
        except RuntimeError:
            pass  # the loop was closed meanwhile, and nobody waits
        return True


def _complete(future: asyncio.Future[None], error: Exception | None) -> None:
    if future.done():
        return  # it was cancelled
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


class _Watcher:
    """The thread, and what it watches."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._thread: threading.Thread | None = None
        self._ends = False

    def add(self, waiting: _Waiting) -> None:
        with self._condition:
            if self._ends:
                raise RuntimeError("the interpreter ends, and nothing is awaited any more")
            self._waiting.append(waiting)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="anyplace-await", daemon=True)
                self._thread.start()
            self._condition.notify()

    def end(self) -> None:
        """Before the interpreter ends, so that the thread isn't stopped in a call."""
        with self._condition:
            self._ends = True
            thread = self._thread
            self._condition.notify()
        if thread is not None:
            thread.join()

    def _watch(self) -> None:
        slice_ = _SHORTEST
        while True:
            with self._condition:
                while not self._waiting and not self._ends:
                    self._condition.wait()
                if self._ends:
                    return
                waiting = list(self._waiting)
            over = [each for each in waiting[1:] if each.is_over(0)]
            if waiting[0].is_over(slice_):
                over.append(waiting[0])
            slice_ = _SHORTEST if over else min(2 * slice_, _LONGEST)
            if over:
                with self._condition:
                    self._waiting = [each for each in self._waiting if each not in over]


_watcher = _Watcher()
atexit.register(_watcher.end)


def of_event(event: Event) -> Generator[Any, None, None]:
    """What `await event` runs. An event that is recorded again meanwhile is waited for to its latest record."""
    loop = asyncio.get_running_loop()
    if event.query():
        return
    future: asyncio.Future[None] = loop.create_future()
    _watcher.add(_Waiting(event, loop, future))
    yield from future


def of_stream(stream: Stream) -> Generator[Any, None, None]:
    """What `await stream` runs: a record of now is awaited, and then the stream is asked for its fault."""
    asyncio.get_running_loop()
    if not stream.synchronize(0):
        yield from of_event(stream.record_event())
        if not stream.synchronize(0):
            stream.query()
