# SPDX-License-Identifier: Apache-2.0
"""`await event` and `await stream`: one thread of the process watches every event that a coroutine waits for.

It asks the events again and again, more rarely the longer none is complete, and ends when none is waited for.
Invariant: a future is touched on its own loop's thread alone.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time

from ._core import Event, Stream

_SHORTEST, _LONGEST = 20e-6, 2e-3  # seconds between two rounds


def _finish(future: asyncio.Future[None], error: BaseException | None) -> None:
    if future.done():
        return  # it was cancelled
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


class _Waiter:
    """An event, and the future of the coroutine that waits for it."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()

    def finished(self) -> bool:
        """Whether nobody has to wait any more; then the future has its result, or will have it."""
        if self.future.cancelled():
            return True
        error: BaseException | None = None
        try:
            if not self.event.query():
                return False
        except Exception as raised:
            error = raised
        try:
            self.loop.call_soon_threadsafe(_finish, self.future, error)
        except RuntimeError:
            pass  # the loop was closed
        return True


class _Watcher:
    """The thread, and what it watches; `_lock` guards `_new` and `_thread`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: list[_Waiter] = []
        self._thread: threading.Thread | None = None

    def watch(self, waiter: _Waiter) -> None:
        with self._lock:
            self._new.append(waiter)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="anyplace-await", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        waiting: list[_Waiter] = []
        pause = _SHORTEST
        while True:
            with self._lock:
                waiting += self._new
                self._new.clear()
                if not waiting:
                    self._thread = None
                    return
            left = [each for each in waiting if not each.finished()]
            pause = _SHORTEST if len(left) < len(waiting) else min(2 * pause, _LONGEST)
            waiting = left
            if waiting:
                time.sleep(pause)


_watcher = _Watcher()
_watcher_of = os.getpid()


async def wait(thing: Event | Stream) -> None:
    """Waits without blocking the loop. The binding calls it."""
    global _watcher, _watcher_of
    event = thing.record_event() if isinstance(thing, Stream) else thing
    if not event.query():
        if _watcher_of != os.getpid():
            _watcher, _watcher_of = _Watcher(), os.getpid()  # a forked child has none of the threads
        waiter = _Waiter(event)
        _watcher.watch(waiter)
        await waiter.future
    if isinstance(thing, Stream):
        thing.query()  # which raises the stream's fault
