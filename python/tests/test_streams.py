# SPDX-License-Identifier: Apache-2.0
"""Stream and Event: order, waiting, faults, what is current, and how all that ends."""

import os
import pickle
import signal
import threading
import time

import pytest

import anyplace


@pytest.fixture
def gate(stream):
    """Holds the stream's work back until the test sets it."""
    event = threading.Event()
    stream.launch_host_func(event.wait, 60)
    yield event
    event.set()
    stream.synchronize()


def test_an_event_is_complete_when_its_streams_work_is(device, stream, gate):
    event = anyplace.Event(device)
    assert event.query()
    event.record(stream)
    assert not event.query() and not stream.query()
    assert not event.synchronize(timeout=0.01) and not stream.synchronize(timeout=0)
    gate.set()
    assert event.synchronize() and event.query()
    assert stream.synchronize() and stream.query()


def test_a_stream_waits_for_an_event_and_for_a_stream(device, stream, gate):
    second, third = anyplace.Stream(device), anyplace.Stream(device)
    order = []
    stream.launch_host_func(order.append, 1)
    second.wait_event(stream.record_event())
    second.launch_host_func(order.append, 2)
    third.wait_stream(second)
    third.launch_host_func(order.append, 3)
    assert order == []
    gate.set()
    third.synchronize()
    assert order == [1, 2, 3]


def test_events_measure_milliseconds(device, stream):
    start = stream.record_event(timing=True)
    stream.launch_host_func(time.sleep, 0.002)
    end = anyplace.Event(device, timing=True)
    assert stream.record_event(end) is end
    stream.synchronize()
    assert start.elapsed_time(end) == end - start >= 2
    with pytest.raises(anyplace.Error) as caught:
        anyplace.Event(device).elapsed_time(end)
    assert caught.value.code == "timing_disabled"


@pytest.mark.thread_unsafe(reason="the fault of a stream is one")
def test_what_a_host_function_raises_is_the_streams_fault_with_its_traceback(stream):
    def fail(divisor):
        return 1 // divisor

    stream.launch_host_func(fail, 0)
    with pytest.raises(anyplace.StreamFault, match="ZeroDivisionError") as caught:
        stream.synchronize()
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError) and cause.__traceback__.tb_frame.f_code.co_name == "fail"
    assert stream.synchronize()


@pytest.mark.thread_unsafe(reason="the fault of a stream is one")
def test_a_host_function_may_not_use_the_library(stream):
    stream.launch_host_func(stream.synchronize)
    with pytest.raises(anyplace.StreamFault, match="not_permitted"):
        stream.synchronize()


def test_with_makes_a_stream_current_and_restores_the_former_one(device, stream):
    other = anyplace.Stream(device)
    assert anyplace.current_stream(device) == device.default_stream
    with stream as entered:
        assert entered is stream and anyplace.current_stream(device) == stream
        with pytest.raises(KeyError), other:
            assert anyplace.current_stream(device) == other
            raise KeyError
        assert anyplace.current_stream(device) == stream
        seen = []
        thread = threading.Thread(target=lambda: seen.append(anyplace.current_stream(device)))
        thread.start()
        thread.join()
        assert seen == [device.default_stream]
    assert anyplace.current_stream(device) == device.default_stream


def test_leaving_what_wasnt_entered_is_refused(device, stream):
    for thing in (device, stream, anyplace.MemoryPool(device)):
        with pytest.raises(RuntimeError, match="entered"):
            thing.__exit__(None, None, None)


def test_a_stream_stays_while_it_is_current(device):
    former = anyplace.current_stream(device)
    anyplace.set_current_stream(anyplace.Stream(device))
    anyplace.current_stream(device).synchronize()
    anyplace.set_current_stream(former)


def test_streams_and_events_are_compared_by_what_they_name(device, stream):
    assert stream == stream and stream != anyplace.Stream(device) and stream != 1
    assert len({stream, anyplace.Stream(device), device.default_stream}) == 3
    event = stream.record_event()
    assert event == event and event != stream.record_event() and hash(event) == hash(event)


def test_using_what_is_closed_is_a_closed_error(device):
    stream, event = anyplace.Stream(device), anyplace.Event(device)
    stream.close()
    event.close()
    stream.close()
    event.close()
    for use in (stream.query, stream.synchronize, event.query, stream.record_event, lambda: stream.wait_event(event)):
        with pytest.raises(anyplace.ClosedError):
            use()
    assert "closed" in repr(stream) and "closed" in repr(event)


def test_what_cant_be_pickled_says_so(stream, device):
    for thing in (stream, anyplace.Event(device)):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(thing)


def test_bad_arguments_are_named(device, stream):
    with pytest.raises(TypeError, match="stream"):
        anyplace.Event(device).record("stream")
    with pytest.raises(TypeError, match="device"):
        anyplace.Stream(0)
    with pytest.raises(TypeError, match="priority"):
        anyplace.Stream(device, priority="high")
    with pytest.raises(TypeError, match="function"):
        stream.launch_host_func(3)
    with pytest.raises(TypeError):
        anyplace.Stream(device, 0)


def test_a_stream_of_another_device_is_refused():
    devices = anyplace.devices("cpu_sim")
    if len(devices) < 2:
        pytest.skip("there is one device")
    with pytest.raises(ValueError, match="cpu_sim:0.*cpu_sim:1|cpu_sim:1.*cpu_sim:0"):
        anyplace.Event(devices[0]).record(anyplace.Stream(devices[1]))


def test_foreign_streams_are_taken_by_the_protocol(device):
    class Foreign:
        def __init__(self, answer):
            self.answer = answer

        def __cuda_stream__(self):
            return self.answer

    for bad in (Foreign((1, 16)), Foreign(7), object()):
        with pytest.raises(TypeError, match="stream"):
            anyplace.Stream.from_external(bad, device)
    if device.backend in ("cuda", "hip"):
        own = anyplace.Stream(device)
        version, handle = own.__cuda_stream__()
        assert version == 0 and handle == own.native_handle()
        assert anyplace.Stream.from_external(own, device).synchronize()
        foreign = Foreign((0, handle))
        assert anyplace.Stream(foreign).device == device and anyplace.Stream(foreign).native_handle() == handle
        buffer = anyplace.Buffer(foreign, 8)
        own.copy(buffer, b"anyplace")
        event = anyplace.Event(device)
        event.record(foreign)
        own.wait_stream(foreign)
        buffer.record_stream(foreign)
        array = anyplace.zeros(2, stream=foreign)
        assert array.stream.native_handle() == handle and array.tolist() == [0, 0]
        foreign.device_index = 77
        with pytest.raises(anyplace.NoDeviceError):
            anyplace.Stream(foreign)
        with pytest.raises(TypeError):
            event.record(Foreign((1, handle)))
    else:
        assert not hasattr(anyplace.Stream(device), "__cuda_stream__")


def test_ctrl_c_ends_a_wait_and_the_work_goes_on(stream, gate):
    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)

    done = []
    stream.launch_host_func(done.append, 1)
    # A program that was started in the background of a shell ignores SIGINT.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            stream.synchronize(timeout=60)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, former)
    gate.set()
    stream.synchronize()
    assert done == [1]


def test_other_threads_run_while_one_waits(stream, gate):
    threading.Timer(0.05, gate.set).start()
    assert stream.synchronize(timeout=60)


def test_the_interpreter_ends_with_work_pending(run, place):
    program = run(
        "import anyplace, time\n"
        f"stream = anyplace.Stream('{place}')\n"
        "stream.launch_host_func(time.sleep, 0.2)\n"
        "for i in range(100): stream.launch_host_func(print, 'late')\n"
        "event = stream.record_event()\n"
    )
    assert program.returncode == 0, program.stderr


def test_a_forked_child_is_told(run, place):
    program = run(
        "import anyplace, os\n"
        f"stream = anyplace.Stream('{place}')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try: stream.query()\n"
        "    except anyplace.Error as error: os._exit(7 if error.code == 'forked' else 1)\n"
        "    os._exit(2)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert program.stdout == "7\n", program.stderr
