# SPDX-License-Identifier: Apache-2.0
"""Buffers and events that multiprocessing passes to another process."""

import multiprocessing
import pickle

import pytest

import anyplace


def fill(memory, done, answers):
    """In another process: fills the memory, and records the event."""
    stream = anyplace.Stream(memory.device)
    stream.fill(memory, 9)
    if done is not None:
        done.record(stream)
    stream.synchronize()
    answers.put(memory.nbytes)


def test_memory_and_an_event_go_to_another_process(device):
    if not device.has("interprocess_memory"):
        pytest.skip("the device can't")
    context = multiprocessing.get_context("spawn")
    stream, answers = anyplace.Stream(device), context.Queue()
    memory = anyplace.Buffer(stream, 4096, shareable=True)
    done = anyplace.Event(device, interprocess=True) if device.has("interprocess_events") else None
    stream.synchronize()
    process = context.Process(target=fill, args=(memory, done, answers))
    process.start()
    assert answers.get(timeout=60) == 4096
    if done is not None:
        stream.wait_event(done)
    host = bytearray(4096)
    stream.copy(host, memory)
    stream.synchronize()
    process.join(60)
    assert host == b"\x09" * 4096 and process.exitcode == 0


def test_what_isnt_to_be_shared_isnt_pickled(device, stream):
    with pytest.raises(TypeError, match="interprocess=True"):
        pickle.dumps(anyplace.Event(device))
    if not device.has("interprocess_memory"):
        with pytest.raises(TypeError, match="shareable=True"):
            pickle.dumps(anyplace.Buffer(stream, 64))


def test_a_process_doesnt_open_its_own_handle(device, stream):
    if not device.has("interprocess_memory"):
        pytest.skip("the device can't")
    pickled = pickle.dumps(anyplace.Buffer(stream, 64, shareable=True))
    with pytest.raises(ValueError, match="this process"):
        pickle.loads(pickled)
