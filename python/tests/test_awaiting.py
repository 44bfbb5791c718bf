# SPDX-License-Identifier: Apache-2.0
"""`await event` and `await stream`: the loop goes on meanwhile, and one thread watches all events."""

import asyncio
import threading

import pytest

import anyplace


def test_a_coroutine_waits_for_an_event_and_the_loop_goes_on(device, stream, hold):
    gate, order = hold(stream), []
    event = stream.record_event()

    async def waits():
        await event
        order.append("event")

    async def program():
        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        order.append("loop")
        gate.set()
        await asyncio.wait_for(task, 60)

    asyncio.run(program())
    assert order == ["loop", "event"] and event.query()


def test_a_coroutine_waits_for_the_work_of_a_stream(stream):
    done = []

    async def program():
        stream.launch_host_func(done.append, 1)
        await stream
        assert done == [1]
        await stream
        await anyplace.Event(stream.device)

    asyncio.run(program())


def test_a_streams_fault_is_raised_where_it_is_awaited(stream):
    async def program():
        stream.launch_host_func(lambda: 1 // 0)
        with pytest.raises(anyplace.StreamFault, match="ZeroDivisionError"):
            await stream

    asyncio.run(program())
    with pytest.raises(anyplace.StreamFault):
        stream.synchronize()


def test_many_coroutines_wait_with_one_thread(device, hold):
    streams = [anyplace.Stream(device) for _ in range(20)]
    gates = [hold(each) for each in streams[:1]]
    before = {each.ident for each in threading.enumerate()}

    async def program():
        streams[0].launch_host_func(lambda: None)
        tasks = [asyncio.create_task(waits(streams[0])) for _ in range(50)]
        tasks += [asyncio.create_task(waits(each)) for each in streams]
        await asyncio.sleep(0)
        watchers = [each for each in threading.enumerate() if each.name == "anyplace-await"]
        assert len(watchers) == 1 and watchers[0].ident not in before
        for gate in gates:
            gate.set()
        await asyncio.wait_for(asyncio.gather(*tasks), 60)

    async def waits(stream):
        await stream

    asyncio.run(program())


def test_a_wait_is_cancelled_and_the_work_goes_on(stream, hold):
    gate, done = hold(stream), []
    stream.launch_host_func(done.append, 1)

    async def program():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.ensure_future(waits()), 0.01)

    async def waits():
        await stream

    asyncio.run(program())
    gate.set()
    stream.synchronize()
    assert done == [1]
