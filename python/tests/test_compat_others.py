# SPDX-License-Identifier: Apache-2.0
"""anyplace.compat's modules for Paddle, MindSpore and cuda.core: defaults, context managers and errors of each."""

import ctypes
import threading

import pytest

from anyplace.compat import cuda_core, mindspore_hal, paddle_cuda, paddle_device, use


@pytest.fixture
def second():
    if paddle_device.device_count() < 2:
        pytest.skip("there is one device")
    return 1


# -- Paddle.


def test_the_program_of_paddles_page_of_streams_runs():
    paddle_device.set_device("gpu")
    first, second = paddle_device.Stream(), paddle_device.Stream()
    event = paddle_device.Event()
    first.record_event(event)
    second.wait_event(event)
    second.wait_stream(first)
    with paddle_device.stream_guard(first):
        assert paddle_device.current_stream() == first
        other = paddle_device.current_stream().record_event()
    other.synchronize()
    second.synchronize()
    assert first.query() and second.query() and event.query()
    paddle_device.synchronize()


def test_paddles_stream_guard_changes_the_place_as_well(second):
    stream = paddle_device.Stream("gpu:1")
    for scope in (
        paddle_device.stream_guard(stream),
        paddle_device.StreamContext(stream),
        paddle_device.stream(stream),
    ):
        with pytest.raises(KeyError), scope:
            assert paddle_device.get_device() == "gpu:1" and paddle_device.current_stream() is stream
            raise KeyError
        assert paddle_device.get_device() == "gpu:0"
    with paddle_device.stream_guard(None):
        assert paddle_device.get_device() == "gpu:0"
    former = paddle_device.set_stream(stream)
    assert paddle_device.get_device() == "gpu:1"
    assert paddle_device.set_stream(former) is stream
    paddle_device.set_device(0)


def test_paddles_priorities_are_two():
    least, greatest = paddle_device.Stream().stream_base.device.priority_range
    assert paddle_device.Stream().stream_base.priority == 0
    assert paddle_device.Stream(priority=2).stream_base.priority == 0
    for high in (1, -1):
        assert paddle_device.Stream(priority=high).stream_base.priority == max(-1, greatest)
    assert least >= 0


def test_paddles_streams_are_equal_when_they_are_the_same():
    stream = paddle_device.Stream()
    assert stream == stream and stream != paddle_device.Stream() and stream != 3
    assert paddle_device.current_stream() is paddle_device.current_stream()
    assert stream.__cuda_stream__()[0] == 0 and stream._as_parameter_.value == stream.cuda_stream
    assert paddle_device.get_stream_from_external(stream.cuda_stream).query()


def test_paddles_events_measure_if_they_are_asked_to():
    start, end = paddle_device.Event(enable_timing=True), paddle_device.Event(enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    plain = paddle_device.Event()
    plain.record()
    with pytest.raises(RuntimeError, match="timing_disabled"):
        plain.elapsed_time(end)


def test_paddles_device_is_text_and_a_context_manager(second):
    device = paddle_device("gpu:1")
    assert device == "cuda:1" and device.type == "cuda" and device.index == 1 and isinstance(device, str)
    with device:
        assert paddle_device.get_device() == "gpu:1" and paddle_device.current_device() == 1
        with paddle_device("cpu"):
            assert paddle_device.get_device() == "cpu"
            with pytest.raises(TypeError, match="device should be gpu"):
                paddle_device.current_stream()
        assert paddle_device.get_device() == "gpu:1"
    with paddle_device.device_guard(1):
        assert paddle_device.get_device() == "gpu:1"
    assert paddle_device.get_device() == "gpu:0"
    assert paddle_device.set_device("gpu:1").gpu_device_id() == 1
    assert paddle_device.set_device("gpu:0").is_gpu_place()
    assert paddle_device("cpu").__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: paddle_device.Stream("cpu"), TypeError, "device should be gpu"),
        (lambda: paddle_device.Stream(stream_base=3), TypeError, "stream_base"),
        (lambda: paddle_device.synchronize("cpu"), TypeError, "device should be gpu"),
        (lambda: paddle_device.set_device("tpu"), ValueError, "must be a string"),
        (lambda: paddle_device.set_device("gpu:99"), ValueError, "99"),
        (lambda: paddle_device.set_device(True), ValueError, "no device"),
        (lambda: paddle_device.device_guard(1.5), ValueError, "no device"),
        (lambda: paddle_device.set_stream(3), TypeError, "stream"),
        (lambda: paddle_device.stream_guard(3), TypeError, "stream"),
        (lambda: paddle_device.memory_allocated("cpu"), ValueError, "device should be gpu"),
        (lambda: paddle_device.get_device_name("cpu"), ValueError, "device should be gpu"),
        (lambda: paddle_device.set_rng_state(b""), ValueError, "get_rng_state"),
        (lambda: paddle_device.device_count("fpga"), ValueError, "fpga"),
        (lambda: paddle_device.cuda.Stream(priority=3), ValueError, "priority"),
        (lambda: paddle_device.cuda.current_stream("gpu:0"), ValueError, "CUDAPlace"),
        (lambda: paddle_device.cuda.synchronize("gpu:0"), ValueError, "CUDAPlace"),
        (lambda: paddle_device.cuda.stream_guard(3), TypeError, "stream"),
        (lambda: paddle_device.cuda._set_current_stream(None), TypeError, "stream"),
        (lambda: paddle_device.cuda.graphs.CUDAGraph(mode="x"), AssertionError, "mode"),
        (lambda: paddle_device.cuda.graphs.CUDAGraph().replay(), RuntimeError, "captured"),
        (lambda: paddle_cuda.cudart(), NotImplementedError, "CUDA"),
        (lambda: paddle_cuda.check_error(3), RuntimeError, "3"),
        (lambda: paddle_device.get_device_module("cpu"), RuntimeError, "cpu"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_bad_calls_raise_what_paddles_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_paddles_older_names_warn_and_go():
    cuda = paddle_device.cuda
    with pytest.warns(DeprecationWarning):
        stream = cuda.Stream(0)
    with pytest.warns(DeprecationWarning):
        event = cuda.Event(True, False, False)
    with pytest.warns(DeprecationWarning):
        current = cuda.current_stream()
    assert isinstance(current, cuda.Stream) and isinstance(current.cuda_stream, int)
    with pytest.warns(DeprecationWarning), cuda.stream_guard(stream):
        assert cuda.current_stream() is stream
        event.record(stream)
    event.synchronize()
    with pytest.warns(DeprecationWarning):
        assert cuda.current_stream() is current
    with pytest.warns(DeprecationWarning):
        cuda.synchronize(paddle_device.CUDAPlace(0))


def test_paddles_graph_captures_the_current_stream(tmp_path):
    graph, called = paddle_device.cuda.graphs.CUDAGraph(), []
    graph.capture_begin()
    assert paddle_device.is_current_stream_capturing()
    paddle_device.current_stream().stream_base.launch_host_func(called.append, 1)
    graph.capture_end()
    assert called == [] and not paddle_device.is_current_stream_capturing()
    graph.replay()
    graph.replay()
    paddle_device.synchronize()
    assert called == [1, 1]
    graph.print_to_dot_files(str(tmp_path / "graphs"))
    assert len(list((tmp_path / "graphs").iterdir())) == 1
    graph.reset()


def test_paddles_figures_and_seeds_are_there(capsys):
    assert 0 <= paddle_device.memory_allocated() <= paddle_device.max_memory_allocated()
    assert paddle_device.memory_reserved("gpu:0") <= paddle_device.max_memory_reserved(0)
    paddle_device.reset_peak_memory_stats()
    paddle_device.empty_cache()
    paddle_device.memory_summary()
    assert "Allocated memory" in capsys.readouterr().out
    paddle_device.manual_seed(3)
    state = paddle_device.get_rng_state()
    assert state.current_seed() == 3
    paddle_device.manual_seed_all(4)
    paddle_device.set_rng_state(state)
    assert paddle_device.get_rng_state().current_seed() == 3
    assert paddle_cuda.get_device_properties().total_memory > 0 and paddle_cuda.mem_get_info()[1] > 0
    assert "gpu:0" in paddle_device.get_available_device()


# -- MindSpore.


@pytest.mark.thread_unsafe(reason="what it makes current is the process's")
def test_the_program_of_mindspores_page_of_streams_runs():
    first, second = mindspore_hal.Stream(), mindspore_hal.Stream()
    marked, done = mindspore_hal.Event(), mindspore_hal.Event()
    with mindspore_hal.StreamCtx(first):
        marked.record()
    with mindspore_hal.StreamCtx(second):
        marked.wait()
        done.record()
    done.wait()
    done.synchronize()
    assert marked.query() is True and done.query() is True
    second.wait_stream(first)
    mindspore_hal.synchronize()
    assert second.query()


@pytest.mark.thread_unsafe(reason="what it looks at is the process's")
def test_mindspores_current_stream_is_the_processs():
    stream, seen = mindspore_hal.Stream(), []
    with mindspore_hal.StreamCtx(stream):
        thread = threading.Thread(target=lambda: seen.append(mindspore_hal.current_stream()))
        thread.start()
        thread.join()
        with mindspore_hal.StreamCtx(None):
            assert mindspore_hal.current_stream() == stream
    assert seen == [stream]
    assert mindspore_hal.current_stream() == mindspore_hal.default_stream()
    mindspore_hal.set_cur_stream(None)


def test_mindspores_events_measure_if_they_are_asked_to():
    start, end = mindspore_hal.Event(enable_timing=True), mindspore_hal.Event(True, False)
    with pytest.raises(RuntimeError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    unrecorded = mindspore_hal.Event()
    assert unrecorded.query()
    unrecorded.synchronize()
    unrecorded.wait()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: mindspore_hal.Stream(priority="high"), TypeError, "priority"),
        (lambda: mindspore_hal.Stream(priority=True), TypeError, "priority"),
        (lambda: mindspore_hal.Event(1), TypeError, "enable_timing"),
        (lambda: mindspore_hal.Event(blocking=0), TypeError, "blocking"),
        (lambda: mindspore_hal.Event().record(3), TypeError, "stream"),
        (lambda: mindspore_hal.Event().elapsed_time(3), TypeError, "end_event"),
        (lambda: mindspore_hal.Stream() == 3, TypeError, "Stream"),
        (lambda: mindspore_hal.Stream().wait_event(3), TypeError, "event"),
        (lambda: mindspore_hal.Stream().wait_stream(3), TypeError, "stream"),
        (lambda: mindspore_hal.Stream().record_event(3), TypeError, "event"),
        (lambda: mindspore_hal.StreamCtx(3), TypeError, "ctx_stream"),
        (lambda: mindspore_hal.set_cur_stream(3), TypeError, "stream"),
        (lambda: mindspore_hal.get_device_name("0"), TypeError, "device_id"),
        (lambda: mindspore_hal.get_device_name(99), ValueError, "99"),
        (lambda: mindspore_hal.device_count("TPU"), ValueError, "TPU"),
        (lambda: mindspore_hal.memory_stats("Ascend"), ValueError, "Ascend"),
        (lambda: mindspore_hal.set_device("Ascend"), ValueError, "Ascend"),
        (lambda: mindspore_hal.set_memory(max_size="2"), ValueError, "max_size"),
        (lambda: mindspore_hal.set_memory(optimize_level="O9"), ValueError, "optimize_level"),
        (lambda: mindspore_hal.use_mem_pool(3), TypeError, "pool"),
        (lambda: mindspore_hal.set_device_limit(1, 1), NotImplementedError, "cores"),
    ],
)
def test_bad_calls_raise_what_mindspores_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_mindspores_figures_are_there():
    stats = mindspore_hal.memory_stats()
    assert stats["total_reserved_memory"] >= stats["total_allocated_memory"] == mindspore_hal.memory_allocated()
    assert mindspore_hal.memory_stats("CPU") == {} and mindspore_hal.memory_reserved("CPU") == 0
    mindspore_hal.reset_peak_memory_stats()
    mindspore_hal.empty_cache()
    assert "Allocated memory" in mindspore_hal.memory_summary()
    assert mindspore_hal.is_available("GPU") and not mindspore_hal.is_available("Ascend")
    assert mindspore_hal.get_device_properties(0).total_memory > 0
    with mindspore_hal.use_mem_pool(mindspore_hal.MemPool()):
        pass


def test_mindspores_device_and_memory_are_set_once(run):
    program = run(
        "from anyplace.compat import mindspore_hal as hal\n"
        "hal.set_device('GPU', 1)\n"
        "print(hal.get_current_device(), hal.Stream().device_id)\n"
        "hal.set_memory(max_size='1024GB')\n"
        "for call in (lambda: hal.set_device('GPU', 0), hal.set_memory):\n"
        "    try: call()\n"
        "    except RuntimeError: print('once')\n",
        ANYPLACE_COMPAT="cpu_sim",
        ANYPLACE_CPU_SIM_DEVICES="2",
    )
    assert program.stdout == "('GPU', 1) 1\nonce\nonce\n", program.stderr


# -- cuda.core.


@pytest.fixture
def core_device():
    device = cuda_core.Device(0)
    device.set_current()
    return device


def test_the_program_of_cuda_cores_page_runs(core_device):
    stream = core_device.create_stream()
    if core_device._device.backend == "cpu_sim":
        code = "template <class T> __global__ void scale(T* numbers, T by) { numbers[threadIdx.x] *= by; }"
        program = cuda_core.Program(code, "c++", {"std": "c++17", "arch": f"sm_{core_device.arch}"})
        kernel = program.compile("cubin", name_expressions=("scale<float>",)).get_kernel("scale<float>")
    host = cuda_core.LegacyPinnedMemoryResource().allocate(16, stream=stream)
    numbers = (ctypes.c_float * 4).from_address(host.handle)
    numbers[:] = [1, 2, 3, 4]
    data = core_device.allocate(16, stream=stream)
    data.copy_from(host, stream=stream)
    if core_device._device.backend == "cpu_sim":
        cuda_core.launch(stream, cuda_core.LaunchConfig(grid=1, block=4), kernel, data, ctypes.c_float(10))
        assert kernel.attributes.max_threads_per_block() > 0
    else:
        data.fill(b"\0\0\0\0", stream=stream)
    data.copy_to(host, stream=stream)
    stream.sync()
    assert list(numbers) == ([10, 20, 30, 40] if core_device._device.backend == "cpu_sim" else [0, 0, 0, 0])
    data.close(stream)
    assert data.handle == 0
    host.close()


def test_a_cuda_core_device_is_one_for_each_thread(core_device):
    seen = []

    def elsewhere():
        seen.append(cuda_core.Device(0))
        with pytest.raises(cuda_core.CUDAError, match="set_current"):
            cuda_core.Device(0).create_stream()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert cuda_core.Device(0) is core_device and seen == [core_device] and seen[0] is not core_device


def test_cuda_cores_defaults_are_its_own(core_device):
    stream = core_device.create_stream()
    assert stream.is_nonblocking and stream.priority == 0 and stream.device is core_device
    assert not core_device.create_stream(options={"nonblocking": False}).is_nonblocking
    event = stream.record()
    assert not event.is_timing_enabled and not event.is_blocking_sync and not event.is_ipc_enabled
    event.sync()
    assert event.is_done and event.device is core_device
    stream.close()
    assert stream.is_closed and stream.handle == 0
    assert core_device.default_stream is cuda_core.LEGACY_DEFAULT_STREAM
    assert cuda_core.Stream.from_handle(core_device.create_stream().handle or 0) is not None


def test_cuda_cores_events_are_subtracted(core_device, hold):
    stream = core_device.create_stream()
    timed = cuda_core.EventOptions(timing_enabled=True)
    start = stream.record(options=timed)
    gate = hold(stream._stream)
    end = stream.record(options=timed)
    with pytest.raises(RuntimeError, match="have not completed"):
        end - start
    gate.set()
    end.sync()
    assert end - start >= 0
    with pytest.raises(RuntimeError, match="must be recorded"):
        core_device.create_event(timed) - start
    with pytest.raises(RuntimeError, match="timing enabled"):
        stream.record() - start


def test_cuda_cores_streams_wait_for_events_and_streams(core_device, hold):
    first, second = core_device.create_stream(), core_device.create_stream()
    gate = hold(first._stream)

    class Foreign:
        def __cuda_stream__(self):
            return 0, first.handle

    second.wait(first.record())
    second.wait(first)
    second.wait(Foreign())
    event = second.record()
    assert not event.is_done
    gate.set()
    event.sync()
    same = core_device.create_stream(Foreign())
    assert same == first and hash(same) == hash(first) and first != second and first != 3


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda device: cuda_core.Stream(), RuntimeError, "instantiated"),
        (lambda device: cuda_core.Event(), RuntimeError, "instantiated"),
        (lambda device: cuda_core.Buffer(), RuntimeError, "instantiated"),
        (lambda device: cuda_core.Kernel(), RuntimeError, "instantiated"),
        (lambda device: cuda_core.ObjectCode(), RuntimeError, "instantiated"),
        (lambda device: cuda_core.Graph(), RuntimeError, "instantiated"),
        (lambda device: cuda_core.GraphBuilder(), RuntimeError, "instantiated"),
        (lambda device: cuda_core.Device(99), ValueError, "99"),
        (lambda device: cuda_core.Device(-1), ValueError, "-1"),
        (lambda device: device.create_stream(options=cuda_core.StreamOptions(priority=1)), ValueError, "priority"),
        (lambda device: device.create_stream(options=3), TypeError, "StreamOptions"),
        (lambda device: device.create_stream(object()), TypeError, "does not implement"),
        (lambda device: device.create_event({"timing_enabled": True, "ipc_enabled": True}), TypeError, "IPC"),
        (lambda device: device.create_stream().wait("event"), ValueError, "can be waited"),
        (lambda device: device.allocate(8), TypeError, "stream"),
        (lambda device: device.allocate(1 << 50, stream=device.default_stream), cuda_core.CUDAError, "out_of_memory"),
        (lambda device: cuda_core.LaunchConfig(grid=0, block=1), ValueError, "grid"),
        (lambda device: cuda_core.LaunchConfig(grid=1, block=(1, 2, 3, 4)), ValueError, "block"),
        (lambda device: cuda_core.LaunchConfig(grid=1, block=1, cluster=2), NotImplementedError, "cluster"),
        (lambda device: cuda_core.Program("", "ptx"), NotImplementedError, "ptx"),
        (lambda device: cuda_core.Program("", "c++").compile("sass"), ValueError, "sass"),
        (lambda device: device.create_graph_builder().complete(), RuntimeError, "not finished"),
        (lambda device: device.create_graph_builder().begin_building("x"), ValueError, "mode"),
        (lambda device: cuda_core.GraphBuilder.join(), ValueError, "two"),
        (lambda device: device.create_context(), NotImplementedError, "primary context"),
        (lambda device: cuda_core.Linker(), NotImplementedError, "linked"),
        (lambda device: setattr(device, "memory_resource", 3), TypeError, "MemoryResource"),
    ],
)
def test_bad_calls_raise_what_cuda_cores_raise(core_device, call, error, text):
    with pytest.raises(error, match=text):
        call(core_device)


def test_cuda_cores_buffers_are_checked(core_device):
    stream = core_device.create_stream()
    first, second = core_device.allocate(16, stream=stream), core_device.allocate(8, stream=stream)
    for call, error in (
        (lambda: first.copy_to(second, stream=stream), ValueError),
        (lambda: first.copy_from(second, stream=stream), ValueError),
        (lambda: first.fill(300, stream=stream), OverflowError),
        (lambda: first.fill(b"abc", stream=stream), ValueError),
        (lambda: cuda_core.Buffer.from_handle(64, 8, first.memory_resource, owner=3), ValueError),
    ):
        with pytest.raises(error):
            call()
    assert first.size == 16 and first.device_id == 0 and first.is_device_accessible and not first.is_host_accessible
    first.fill(5, stream=stream)
    copy = first.copy_to(stream=stream)
    held = cuda_core.PinnedMemoryResource().allocate(16, stream=stream)
    copy.copy_to(held, stream=stream)
    stream.sync()
    assert ctypes.string_at(held.handle, 16) == b"\5" * 16
    borrowed = cuda_core.Buffer.from_handle(held.handle, 16, owner=held)
    assert borrowed.owner is held and borrowed.device_id == 0 or borrowed.is_host_accessible


def test_a_memory_resource_of_ones_own_gets_its_memory_back(core_device):
    log = []

    class Resource(cuda_core.MemoryResource):
        def allocate(self, size, *, stream):
            log.append(("allocate", size))
            return cuda_core.Buffer.from_handle(4096, size, self, stream=stream)

        def deallocate(self, ptr, size, *, stream):
            log.append(("deallocate", ptr, size))

        is_device_accessible = True
        is_host_accessible = False
        device_id = 0

    buffer = Resource().allocate(8, stream=core_device.create_stream())
    buffer.close()
    buffer.close()
    assert log == [("allocate", 8), ("deallocate", 4096, 8)]


def test_cuda_cores_graph_builder_splits_and_joins(core_device, tmp_path):
    called, stream = [], core_device.create_stream()
    builder = core_device.create_graph_builder().begin_building()
    assert builder.is_building
    builder.callback(called.append, user_data=1)
    first, second = builder.split(2)
    assert second.is_join_required
    second.callback(lambda: called.append(2))
    builder = cuda_core.GraphBuilder.join(first, second)
    builder.callback(called.append, user_data=3)
    graph = builder.end_building().complete()
    graph.upload(stream)
    graph.launch(stream)
    stream.sync()
    assert called == [1, 2, 3]
    builder.debug_dot_print(str(tmp_path / "graph.dot"))
    assert "digraph" in (tmp_path / "graph.dot").read_text()


def test_the_backend_is_named_by_its_name():
    for bad, error in ((3, TypeError), ("Not A Name", ValueError)):
        with pytest.raises(error, match="backend"):
            use(bad)
