# SPDX-License-Identifier: Apache-2.0
"""await event and await stream."""

import asyncio
import threading

import pytest

import anyplace


@pytest.fixture
def gate(stream):
    event = threading.Event()
    stream.launch_host_func(event.wait, 60)
    yield event
    event.set()
    stream.synchronize()


def test_awaiting_waits_for_the_work_while_the_loop_runs(stream, gate):
    async def main():
        event = stream.record_event()
        order = []

        async def wait(thing, name):
            await thing
            order.append(name)

        waits = [asyncio.create_task(wait(each, name)) for each, name in ((event, "event"), (stream, "stream"))]
        await asyncio.sleep(0.02)
        assert order == []
        gate.set()
        await asyncio.wait_for(asyncio.gather(*waits), 60)
        assert sorted(order) == ["event", "stream"] and event.query()
        await event
        await stream

    asyncio.run(main())


def test_many_waits_take_one_thread(device, stream, gate):
    async def main():
        waits = [asyncio.ensure_future(_wait(stream.record_event())) for _ in range(50)]
        await asyncio.sleep(0.02)
        assert sum(thread.name == "anyplace-await" for thread in threading.enumerate()) == 1
        gate.set()
        await asyncio.wait_for(asyncio.gather(*waits), 60)

    async def _wait(event):
        await event

    asyncio.run(main())


@pytest.mark.thread_unsafe(reason="the fault of a stream is one")
def test_a_fault_of_the_stream_is_raised_where_it_is_awaited(stream):
    def fail():
        raise KeyError("host")

    async def main():
        stream.launch_host_func(fail)
        with pytest.raises(anyplace.StreamFault, match="KeyError"):
            await stream
        await stream

    asyncio.run(main())


def test_a_cancelled_wait_is_dropped_and_the_work_goes_on(stream, gate):
    done = []
    stream.launch_host_func(done.append, 1)

    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stream, 0.02)

    asyncio.run(main())
    gate.set()
    stream.synchronize()
    assert done == [1]


def test_a_loop_that_is_closed_meanwhile_disturbs_nobody(stream, gate):
    event = stream.record_event()
    loop = asyncio.new_event_loop()

    async def wait():
        await event

    task = loop.create_task(wait())
    loop.run_until_complete(asyncio.sleep(0.01))
    task.cancel()
    loop.close()
    gate.set()

    async def main():
        await event
        await stream

    asyncio.run(asyncio.wait_for(main(), 60))


def test_awaiting_outside_of_a_loop_is_a_runtime_error(stream):
    for thing in (stream, stream.record_event()):
        with pytest.raises(RuntimeError, match="loop"):
            next(thing.__await__())


def test_the_interpreter_ends_while_something_is_awaited(run, place):
    program = run(
        "import anyplace, asyncio, os, signal, threading\n"
        f"stream = anyplace.Stream('{place}')\n"
        "gate = threading.Event()\n"
        "stream.launch_host_func(gate.wait, 60)\n"
        "async def main():\n"
        "    asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)\n"
        "    await stream\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try: asyncio.run(main())\n"
        "except KeyboardInterrupt: print('interrupted')\n"
        "gate.set()\n"
    )
    assert program.returncode == 0 and program.stdout == "interrupted\n", program.stderr
