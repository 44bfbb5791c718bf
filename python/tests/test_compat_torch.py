# SPDX-License-Identifier: Apache-2.0
"""anyplace.compat.torch_cuda and torch_accelerator: torch's defaults, context managers and errors."""

import ctypes
import json
import pickle
import struct
import threading

import pytest

import anyplace
from anyplace.compat import torch_accelerator, torch_cuda


@pytest.fixture
def second():
    if torch_cuda.device_count() < 2:
        pytest.skip("there is one device")
    return 1


def test_the_program_of_torchs_page_of_streams_runs():
    first = torch_cuda.Stream()
    second = torch_cuda.Stream(priority=-1)
    with torch_cuda.stream(first):
        event = torch_cuda.current_stream().record_event()
        assert torch_cuda.current_stream() == first
    second.wait_event(event)
    second.wait_stream(first)
    torch_cuda.current_stream().wait_stream(second)
    torch_cuda.synchronize()
    assert first.query() and second.query() and event.query()


def test_a_stream_waits_for_another(hold):
    first, second = torch_cuda.Stream(), torch_cuda.Stream()
    gate = hold(first._ref.stream)
    second.wait_stream(first)
    assert not first.query() and not second.query()
    event = second.record_event()
    assert not event.query()
    gate.set()
    event.synchronize()
    assert first.query()


def test_with_a_stream_changes_the_device_as_well_and_restores_both(second):
    stream = torch_cuda.Stream(second)
    before = torch_cuda.current_stream()
    assert torch_cuda.current_device() == 0
    for scope in (torch_cuda.stream(stream), torch_cuda.StreamContext(stream), stream):
        with pytest.raises(KeyError), scope:
            assert torch_cuda.current_device() == 1 and torch_cuda.current_stream() == stream
            raise KeyError
        assert torch_cuda.current_device() == 0 and torch_cuda.current_stream() == before
    assert torch_cuda.current_stream(1) == torch_cuda.default_stream(1)
    with torch_cuda.stream(None):
        assert torch_cuda.current_stream() == before


def test_set_stream_changes_the_device_as_well(second):
    stream = torch_cuda.Stream(second)
    torch_cuda.set_stream(stream)
    assert torch_cuda.current_device() == 1 and torch_cuda.current_stream() == stream
    torch_cuda.set_stream(torch_cuda.default_stream(1))
    torch_cuda.set_stream(None)
    torch_cuda.set_stream(torch_cuda.default_stream(0))
    assert torch_cuda.current_device() == 0


def test_the_current_stream_is_each_threads_own():
    stream, seen = torch_cuda.Stream(), []
    with stream:
        thread = threading.Thread(target=lambda: seen.append(torch_cuda.current_stream()))
        thread.start()
        thread.join()
    assert seen == [torch_cuda.default_stream()]


def test_streams_are_compared_by_handle_and_device():
    stream = torch_cuda.Stream()
    same = torch_cuda.ExternalStream(stream.cuda_stream)
    assert (
        stream == same
        and hash(stream) == hash(same)
        and stream == torch_cuda.get_stream_from_external(same.cuda_stream)
    )
    assert stream != torch_cuda.Stream() and stream != 1 and stream != torch_cuda.default_stream()
    assert torch_cuda.default_stream().cuda_stream == 0 and stream.cuda_stream != 0
    assert stream.__cuda_stream__() == (0, stream.cuda_stream)
    assert isinstance(stream._as_parameter_, ctypes.c_void_p) and stream._as_parameter_.value == stream.cuda_stream
    assert str(stream.device) == "cuda:0" and stream.device_index == 0
    assert repr(stream) == f"<torch.cuda.Stream device=cuda:0 cuda_stream={stream.cuda_stream:#x}>"


def test_a_priority_outside_the_range_becomes_the_nearest_end():
    least, greatest = torch_cuda.Stream.priority_range()
    assert greatest <= 0 <= least
    assert torch_cuda.Stream(priority=-1000).priority == greatest
    assert torch_cuda.Stream().priority == 0


def test_an_event_is_made_at_its_first_record():
    event = torch_cuda.Event()
    assert event.device is None and event.cuda_event == 0 and repr(event) == "<torch.cuda.Event uninitialized>"
    assert event.query()
    event.synchronize()
    event.wait()
    event.record()
    assert event.cuda_event != 0 and str(event.device) == "cuda:0" and "uninitialized" not in repr(event)


def test_events_measure_milliseconds_if_they_are_asked_to():
    start, end = torch_cuda.Event(enable_timing=True), torch_cuda.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(RuntimeError, match="enable_timing"):
        start.elapsed_time(torch_cuda.Event())


def test_time_of_an_event_that_isnt_complete_is_an_error(hold):
    stream = torch_cuda.Stream()
    start, end = torch_cuda.Event(enable_timing=True), torch_cuda.Event(enable_timing=True)
    start.record(stream)
    gate = hold(stream._ref.stream)
    end.record(stream)
    with pytest.raises(RuntimeError, match="not_ready"):
        start.elapsed_time(end)
    gate.set()
    stream.synchronize()
    assert start.elapsed_time(end) >= 0


def test_an_event_belongs_to_the_device_of_its_first_record(second):
    event = torch_cuda.Event()
    event.record()
    with pytest.raises(RuntimeError, match="does not match"):
        event.record(torch_cuda.Stream(second))
    torch_cuda.Stream(second).wait_event(event)


def test_only_an_interprocess_event_has_a_handle():
    with pytest.raises(RuntimeError, match="interprocess"):
        torch_cuda.Event().ipc_handle()
    device = anyplace.Device(f"{anyplace.compat.backend()}:0")
    if device.has("interprocess_events"):
        assert len(torch_cuda.Event(interprocess=True).ipc_handle()) >= 64


def test_a_fault_of_a_stream_is_an_accelerator_error():
    stream = torch_cuda.Stream()
    stream._ref.stream.launch_host_func(lambda: 1 // 0)
    with pytest.raises(torch_cuda.AcceleratorError, match="ZeroDivisionError") as caught:
        stream.synchronize()
    assert caught.value.error_code != 0 and isinstance(caught.value, RuntimeError)
    stream.synchronize()


def test_devices_are_named_in_every_way_of_torchs(second):
    for name in (1, "cuda:1", "gpu:1", anyplace.Device(f"{anyplace.compat.backend()}:1")):
        with torch_cuda.device(name):
            assert torch_cuda.current_device() == 1
        assert torch_cuda.current_device() == 0
    for nothing in (None, -1):
        with torch_cuda.device(nothing):
            assert torch_cuda.current_device() == 0
    with torch_cuda.device_of(object()):
        assert torch_cuda.current_device() == 0
    torch_cuda.set_device(-1)
    assert torch_cuda.current_device() == 0


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda: torch_cuda.set_device(99), torch_cuda.AcceleratorError, "invalid device ordinal"),
        (lambda: torch_cuda.device("cpu"), ValueError, "Expected a cuda device"),
        (lambda: torch_cuda.device("cuda:x"), ValueError, "Invalid device string"),
        (lambda: torch_cuda.device(True), ValueError, "Expected a cuda device"),
        (lambda: torch_cuda.get_device_name(99), AssertionError, "Invalid device id"),
        (lambda: torch_cuda.can_device_access_peer(0, 99), AssertionError, "Invalid peer device id"),
        (lambda: torch_cuda.Stream(99), torch_cuda.AcceleratorError, "invalid device ordinal"),
        (lambda: torch_cuda.Stream(colour=1), TypeError, "colour"),
        (lambda: torch_cuda.set_per_process_memory_fraction(1), TypeError, "float"),
        (lambda: torch_cuda.set_per_process_memory_fraction(1.5), ValueError, "0~1"),
        (lambda: torch_cuda.caching_allocator_alloc(8, stream="s"), TypeError, "stream"),
        (lambda: torch_cuda.caching_allocator_delete(64), RuntimeError, "invalid device pointer"),
        (lambda: torch_cuda.set_sync_debug_mode("loud"), RuntimeError, "debug_mode"),
        (lambda: torch_cuda.set_rng_state(3), TypeError, "RNG state"),
        (lambda: torch_cuda.set_rng_state(bytes(3)), RuntimeError, "wrong size"),
        (lambda: torch_cuda.check_error(2), torch_cuda.CudaError, "2"),
        (lambda: torch_cuda.CUDAGraph().replay(), RuntimeError, "capture"),
        (lambda: torch_cuda.CUDAGraph().capture_begin(), RuntimeError, "non-default stream"),
        (lambda: torch_cuda.CUDAGraph().capture_begin(capture_error_mode="x"), RuntimeError, "capture error mode"),
        (lambda: torch_cuda.current_blas_handle(), NotImplementedError, "CUDA"),
        (lambda: torch_cuda.comm.broadcast(None), NotImplementedError, "collectives"),
        (lambda: torch_cuda.Event().elapsed_time(3), TypeError, "end_event"),
    ],
)
def test_bad_calls_raise_what_torchs_raise(use, error, text):
    with pytest.raises(error, match=text):
        use()


def test_memory_is_counted_by_torchs_names():
    before = torch_cuda.memory_allocated()
    address = torch_cuda.caching_allocator_alloc(1 << 20)
    assert address != 0
    assert torch_cuda.memory_allocated() == before + (1 << 20) <= torch_cuda.max_memory_allocated()
    assert torch_cuda.memory_reserved() >= torch_cuda.memory_allocated()
    stats = torch_cuda.memory_stats()
    assert list(stats) == sorted(stats) and stats["allocated_bytes.all.current"] == torch_cuda.memory_allocated()
    assert (
        torch_cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] == torch_cuda.memory_allocated()
    )
    torch_cuda.caching_allocator_delete(address)
    assert torch_cuda.memory_allocated() == before
    torch_cuda.reset_peak_memory_stats()
    assert torch_cuda.max_memory_allocated() == before
    with pytest.warns(FutureWarning):
        assert torch_cuda.memory_cached() == torch_cuda.memory_reserved()
    free, total = torch_cuda.mem_get_info()
    assert 0 <= free <= total
    torch_cuda.empty_cache()
    assert "Allocated memory" in torch_cuda.memory_summary()


def test_out_of_memory_is_torchs_error_and_no_memory_error():
    with pytest.raises(torch_cuda.OutOfMemoryError) as caught:
        torch_cuda.caching_allocator_alloc(1 << 50)
    assert not isinstance(caught.value, MemoryError)


@pytest.mark.thread_unsafe(reason="what it looks at is the process's")
def test_the_fraction_of_memory_is_kept():
    torch_cuda.set_per_process_memory_fraction(0.5)
    try:
        assert torch_cuda.get_per_process_memory_fraction() == 0.5
    finally:
        torch_cuda.set_per_process_memory_fraction(1.0)


def test_a_pools_memory_is_apart():
    pool = torch_cuda.MemPool()
    with torch_cuda.use_mem_pool(pool):
        assert pool.use_count() == 2
        address = torch_cuda.caching_allocator_alloc(4096)
    assert pool.use_count() == 1
    assert [tuple(each["segment_pool_id"]) for each in pool.snapshot()] == [pool.id]
    torch_cuda.caching_allocator_delete(address)
    with pytest.raises(NotImplementedError):
        torch_cuda.MemPool(use_on_oom=True)


def test_a_snapshot_is_what_the_viewer_opens(tmp_path):
    path = tmp_path / "snapshot.pickle"
    torch_cuda.memory._dump_snapshot(str(path))
    assert set(pickle.loads(path.read_bytes())) >= {"segments", "device_traces"}
    json.dumps(torch_cuda.memory_snapshot())


@pytest.mark.thread_unsafe(reason="what it looks at is the process's")
def test_a_state_of_random_numbers_is_the_seed_and_the_offset():
    torch_cuda.manual_seed(7)
    assert torch_cuda.initial_seed() == 7
    state = torch_cuda.get_rng_state()
    assert struct.unpack("<QQ", state) == (7, 0)
    torch_cuda.seed()
    torch_cuda.set_rng_state(state)
    assert torch_cuda.get_rng_state() == state
    torch_cuda.manual_seed_all(9)
    assert len({bytes(each) for each in torch_cuda.get_rng_state_all()}) == 1
    torch_cuda.set_rng_state_all(torch_cuda.get_rng_state_all())


def test_ranges_tell_their_depth():
    assert torch_cuda.nvtx.range_push("outer") == 0
    assert torch_cuda.nvtx.range_push("inner") == 1
    assert torch_cuda.nvtx.range_pop() == 1
    assert torch_cuda.nvtx.range_pop() == 0
    with torch_cuda.nvtx.range("step {}", 1), torch_cuda.profiler.profile():
        torch_cuda.nvtx.range_end(torch_cuda.nvtx.range_start("between"))
        torch_cuda.nvtx.mark("here")


@pytest.mark.thread_unsafe(reason="a stream is captured once at a time")
def test_a_graph_is_captured_and_replayed():
    calls = []
    graph = torch_cuda.CUDAGraph()
    with torch_cuda.graph(graph):
        assert torch_cuda.is_current_stream_capturing()
        torch_cuda.current_stream()._ref.stream.launch_host_func(calls.append, 1)
    assert not torch_cuda.is_current_stream_capturing() and calls == []
    graph.replay()
    graph.replay()
    torch_cuda.synchronize()
    assert calls == [1, 1]
    other = torch_cuda.CUDAGraph()
    with torch_cuda.graph(other, pool=graph.pool()):
        pass
    assert other.pool() == graph.pool()
    graph.reset()
    with pytest.raises(RuntimeError):
        graph.replay()


@pytest.mark.thread_unsafe(reason="a global capture forbids calls of other threads")
def test_an_exception_in_a_capture_goes_on_and_ends_it():
    graph, stream = torch_cuda.CUDAGraph(), torch_cuda.Stream()
    with pytest.raises(KeyError), torch_cuda.graph(graph, stream=stream):
        raise KeyError
    assert not stream.is_capturing()
    stream.synchronize()


@pytest.mark.thread_unsafe(reason="a global capture forbids calls of other threads")
def test_waiting_in_a_capture_is_an_accelerator_error():
    graph, stream = torch_cuda.CUDAGraph(), torch_cuda.Stream()
    with pytest.raises(torch_cuda.AcceleratorError), torch_cuda.graph(graph, stream=stream):
        stream.synchronize()
    assert not stream.is_capturing()


def test_importing_loads_no_driver_and_the_first_use_does(run):
    program = run(
        "from anyplace.compat import torch_cuda\n"
        "torch_cuda.manual_seed(5)\n"
        "torch_cuda.empty_cache()\n"
        "print(torch_cuda.is_initialized(), torch_cuda.memory_allocated(), torch_cuda.memory_stats())\n"
        "torch_cuda.init()\n"
        "print(torch_cuda.is_initialized(), torch_cuda.initial_seed())\n",
        ANYPLACE_COMPAT="cpu_sim",
    )
    assert program.stdout == "False 0 OrderedDict()\nTrue 5\n", program.stderr


def test_without_a_device_there_is_an_answer(run):
    program = run(
        "from anyplace.compat import torch_cuda, cupy_cuda, paddle_device\n"
        "print(torch_cuda.is_available(), torch_cuda.device_count())\n"
        "print(cupy_cuda.is_available(), paddle_device.is_available())\n"
        "try: torch_cuda.init()\n"
        "except RuntimeError as error: print('no such' in str(error) or 'no_such' in str(error))\n",
        ANYPLACE_COMPAT="nothing_like_it",
    )
    assert program.stdout == "False 0\nFalse False\nTrue\n", program.stderr


def test_a_forked_child_is_told(run):
    program = run(
        "import os\n"
        "from anyplace.compat import torch_cuda\n"
        "torch_cuda.init()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    if torch_cuda.is_initialized(): os._exit(2)\n"
        "    try: torch_cuda.init()\n"
        "    except RuntimeError as error: os._exit(7 if 're-initialize' in str(error) else 1)\n"
        "    os._exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n",
        ANYPLACE_COMPAT="cpu_sim",
    )
    assert program.stdout == "7\n", program.stderr


def test_an_allocator_of_c_functions_gives_all_memory(run, tmp_path):
    program = run(
        "import ctypes, sys\n"
        "import anyplace\n"
        "from anyplace.compat import torch_cuda\n"
        "torch_cuda.init()\n"
        "made = []\n"
        "ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)\n"
        "FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.aligned_alloc.restype = ctypes.c_void_p\n"
        "libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]\n"
        "libc.free.argtypes = [ctypes.c_void_p]\n"
        "whole = lambda size: (size + 255) // 256 * 256\n"
        "alloc = ALLOC(lambda size, device, stream: made.append(size) or libc.aligned_alloc(256, whole(size)))\n"
        "free = FREE(lambda memory, size, device, stream: made.append(-size) or libc.free(memory))\n"
        "pluggable = torch_cuda.CUDAPluggableAllocator.__new__(torch_cuda.CUDAPluggableAllocator)\n"
        "pluggable._functions = [ctypes.cast(each, ctypes.c_void_p).value for each in (alloc, free)]\n"
        "torch_cuda.change_current_allocator(pluggable)\n"
        "torch_cuda.caching_allocator_delete(torch_cuda.caching_allocator_alloc(1000))\n"
        "torch_cuda.synchronize()\n"
        "print(made, torch_cuda.get_allocator_backend())\n"
        "try: torch_cuda.change_current_allocator(pluggable)\n"
        "except RuntimeError as error: print('swap' in str(error))\n",
        ANYPLACE_COMPAT="cpu_sim",
    )
    assert program.stdout == "[1000, -1000] pluggable\nTrue\n", program.stderr


@pytest.mark.thread_unsafe(reason="what it looks at is the process's")
def test_the_generic_names_of_torch_are_there(second):
    accelerator = torch_accelerator
    assert accelerator.is_available() and accelerator.device_count() == torch_cuda.device_count()
    stream = accelerator.Stream("cuda:1", priority=-1)
    assert accelerator.Stream(device="cuda:1").device == stream.device
    with accelerator.device_index(1):
        assert accelerator.current_device_index() == 1
    with accelerator.device_index(None):
        assert accelerator.current_device_index() == 0
    accelerator.set_stream(stream)
    assert accelerator.current_stream() == stream and accelerator.current_device_index() == 1
    accelerator.set_stream(torch_cuda.default_stream(1))
    accelerator.set_device_index(0)
    event = accelerator.Event("cuda:0", enable_timing=True)
    assert str(event.device) == "cuda:0"
    event.record()
    accelerator.synchronize()
    assert "float32" in accelerator.get_device_capability()["supported_dtypes"]
    assert accelerator.get_memory_info()[1] > 0
    graph = accelerator.Graph()
    with accelerator.Stream(), graph:
        pass
    graph.replay()
    for use, error in (
        (lambda: accelerator.set_device_index("cpu"), ValueError),
        (lambda: accelerator.synchronize("xpu:0"), ValueError),
    ):
        with pytest.raises(error, match="match"):
            use()
