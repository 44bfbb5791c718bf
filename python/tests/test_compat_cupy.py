# SPDX-License-Identifier: Apache-2.0
"""anyplace.compat.cupy_cuda: CuPy's defaults, context managers, pools and errors."""

import ctypes
import io
import json
import pickle
import threading

import pytest

import anyplace
from anyplace.compat import cupy_cuda as cuda

SCALE = """
extern "C" __global__ void scale(float* numbers, float by) { numbers[threadIdx.x] *= by; }
"""


@pytest.fixture
def second():
    if cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one device")
    return 1


@pytest.fixture(autouse=True)
def null_stream():
    cuda.Stream.null.use()
    yield
    cuda.Stream.null.use()


@pytest.fixture
def compiles():
    device = anyplace.Device(f"{anyplace.compat.backend()}:0")
    if device.backend != "cpu_sim":
        pytest.skip("the double compiles nothing")


def test_the_program_of_cupys_page_of_streams_runs():
    stream = cuda.Stream()
    with stream:
        memory = cuda.alloc(16)
        memory.memset_async(1, 16)
    stream.synchronize()
    stream.use()
    event = cuda.get_current_stream().record()
    assert cuda.get_current_stream() is stream
    cuda.Stream.null.use()
    assert cuda.get_current_stream() is cuda.Stream.null
    event.synchronize()
    start, end = cuda.Event(), cuda.Event()
    start.record(stream)
    end.record(stream)
    end.synchronize()
    assert cuda.get_elapsed_time(start, end) >= 0


def test_timing_is_on_by_default():
    start, end = cuda.Event(), cuda.Event(disable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    with pytest.raises(cuda.CUDARuntimeError, match="cudaErrorInvalidResourceHandle"):
        cuda.get_elapsed_time(start, end)
    with pytest.raises(ValueError, match="Timing"):
        cuda.Event(interprocess=True)


def test_a_plain_stream_waits_for_the_null_stream_and_a_non_blocking_one_doesnt(hold):
    plain, apart = cuda.Stream(), cuda.Stream(non_blocking=True)
    assert not plain.is_non_blocking and apart.is_non_blocking
    device = plain._stream.device
    if not device.has("blocking_streams"):
        pytest.skip("the device has no blocking streams")
    gate = hold(device.default_stream)
    plain_event, apart_event = plain.record(), apart.record()
    apart_event.synchronize()
    assert not plain_event.done
    gate.set()
    plain_event.synchronize()
    assert plain_event.done


def test_with_a_stream_of_another_device_is_an_error(second):
    with cuda.Device(second):
        stream = cuda.Stream()
        with stream:
            assert cuda.get_current_stream() is stream
    with pytest.raises(RuntimeError, match="current device"):
        stream.use()
    with pytest.raises(RuntimeError, match="current device"), stream:
        pass
    assert cuda.get_device_id() == 0


def test_a_stream_set_by_use_is_forgotten_after_a_with():
    stream, other = cuda.Stream(), cuda.Stream()
    stream.use()
    with other:
        assert cuda.get_current_stream() is other
    assert cuda.get_current_stream() is cuda.Stream.null


def test_streams_are_compared_by_pointer():
    stream = cuda.Stream()
    assert stream != cuda.Stream() and stream != 1 and cuda.Stream(null=True) == cuda.Stream.null
    assert cuda.Stream.null != cuda.Stream.ptds and cuda.Stream.ptds.ptr == 2
    assert cuda.Stream.null.device_id == -1 and stream.device_id == 0
    assert len({stream, cuda.Stream.from_external(stream)}) == 1


def test_external_streams_are_deprecated_and_go():
    stream = cuda.Stream()
    with pytest.warns(DeprecationWarning):
        external = cuda.ExternalStream(stream.ptr)
    called = []
    external.launch_host_func(called.append, 1)
    external.synchronize()
    assert called == [1] and external == stream


def test_a_callback_gets_the_stream_and_a_status():
    stream, called = cuda.Stream(), []
    stream.add_callback(lambda *args: called.append(args), "argument")
    stream.synchronize()
    assert called == [(stream, 0, "argument")]


def test_a_capture_becomes_a_graph():
    stream, called = cuda.Stream(non_blocking=True), []
    with stream:
        stream.begin_capture()
        assert stream.is_capturing()
        stream.launch_host_func(called.append, 1)
        graph = stream.end_capture()
    assert called == [] and not stream.is_capturing()
    graph.upload()
    graph.launch(stream)
    stream.synchronize()
    assert called == [1] and "digraph" in graph.debug_dot_str()


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda: cuda.Graph(), NotImplementedError, "captur"),
        (lambda: cuda.Stream.null.begin_capture(), RuntimeError, "legacy"),
        (lambda: cuda.Stream().begin_capture(7), ValueError, "mode"),
        (lambda: cuda.Stream().end_capture(), cuda.CUDARuntimeError, "cudaErrorIllegalState"),
        (lambda: cuda.Device(99).use(), cuda.CUDARuntimeError, "cudaErrorInvalidDevice"),
        (lambda: cuda.Device(-1).use(), cuda.CUDARuntimeError, "cudaErrorInvalidDevice"),
        (lambda: cuda.Device.from_pci_bus_id("no"), cuda.CUDARuntimeError, "cudaErrorInvalidValue"),
        (lambda: cuda.Stream.from_external(3), TypeError, "does not implement"),
        (lambda: cuda.runtime.free(48), cuda.CUDARuntimeError, "cudaErrorInvalidValue"),
        (lambda: cuda.runtime.streamDestroy(48), cuda.CUDARuntimeError, "cudaErrorInvalidResourceHandle"),
        (lambda: cuda.runtime.eventQuery(48), cuda.CUDARuntimeError, "cudaErrorInvalidResourceHandle"),
        (lambda: cuda.runtime.deviceGetAttribute(100000, 0), cuda.CUDARuntimeError, "cudaErrorInvalidValue"),
        (lambda: cuda.MemoryPool().set_limit(), ValueError, "size or fraction"),
        (lambda: cuda.MemoryPool().set_limit(size=1, fraction=0.5), ValueError, "one time"),
        (lambda: cuda.MemoryPool().set_limit(fraction=2), ValueError, "out of range"),
        (lambda: cuda.MemoryAsyncPool().n_free_blocks(), NotImplementedError, "MemoryAsyncPool"),
        (lambda: cuda.MemoryAsyncPool("mine"), ValueError, "pool_handles"),
        (lambda: cuda.RawModule(), TypeError, "Exactly one"),
        (lambda: cuda.RawModule(code="", path=""), TypeError, "Exactly one"),
        (lambda: cuda.RawModule(code="", options="-DX"), TypeError, "options"),
        (lambda: cuda.RawModule(code="", backend="x"), ValueError, "backend"),
        (lambda: cuda.RawModule(path="x", options=("-DX",)), ValueError, "options"),
        (lambda: cuda.RawModule(code="", name_expressions="f<int>"), TypeError, "name_expressions"),
        (lambda: cuda.get_cublas_handle(), NotImplementedError, "CUDA"),
        (lambda: cuda.Device().cublas_handle, NotImplementedError, "CUDA"),
        (lambda: cuda.nccl.get_unique_id(), NotImplementedError, "collectives"),
        (lambda: cuda.alloc(1 << 50), cuda.OutOfMemoryError, "Out of memory allocating"),
    ],
)
def test_bad_calls_raise_what_cupys_raise(use, error, text):
    with pytest.raises(error, match=text):
        use()


def test_an_error_has_a_status_and_pickles():
    with pytest.raises(cuda.CUDARuntimeError) as caught:
        cuda.Device(99).use()
    assert caught.value.status == 101
    for error in (caught.value, cuda.OutOfMemoryError(1024, 0, 2048), cuda.CUDADriverError(1)):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error)
    assert str(cuda.OutOfMemoryError(1024, 0, 2048)) == (
        "Out of memory allocating 1,024 bytes (allocated so far: 0 bytes, limit set to: 2,048 bytes)."
    )
    assert issubclass(cuda.OutOfMemoryError, MemoryError)


def test_devices_are_ordered_and_not_hashable(second):
    assert cuda.Device(0) < cuda.Device(second) and cuda.Device(0) == cuda.Device(0) and cuda.Device(0) != 0
    with pytest.raises(TypeError):
        hash(cuda.Device(0))
    with cuda.Device(second) as device:
        assert int(device) == 1 and cuda.get_device_id() == 1
        assert len(device.mem_info) == 2 and device.attributes["MaxThreadsPerBlock"] > 0
    assert cuda.get_device_id() == 0
    assert cuda.Device(second).use().id == 1
    cuda.Device(0).use()


def host_bytes(pointer, size):
    held = (ctypes.c_ubyte * size)()
    pointer.copy_to_host(ctypes.c_void_p(ctypes.addressof(held)), size)
    return bytes(held)


def test_pointers_copy_and_fill():
    memory, other = cuda.alloc(16), cuda.alloc(16)
    memory.memset(3, 16)
    (memory + 8).memset(4, 8)
    other.copy_from_device(memory, 16)
    assert host_bytes(other, 16) == b"\3" * 8 + b"\4" * 8
    given = (ctypes.c_ubyte * 4)(1, 2, 3, 4)
    (other + 4 - 4).copy_from_host(ctypes.addressof(given), 4)
    stream = cuda.Stream()
    memory.copy_from_async(other, 4, stream)
    memory.memset_async(9, 1, stream)
    stream.synchronize()
    assert host_bytes(memory, 4) == b"\x09\2\3\4"
    assert memory.device_id == 0 and int(memory + 1) == memory.ptr + 1
    assert cuda.device.from_pointer(memory.ptr) == cuda.Device(0)


def test_copies_that_wait_are_refused_in_a_capture():
    stream, memory = cuda.Stream(non_blocking=True), cuda.alloc(16)
    with stream:
        stream.begin_capture()
        with pytest.raises(RuntimeError, match="capturing"):
            memory.memset(0, 16)
        stream.end_capture()


def test_a_pool_keeps_what_is_freed_for_its_stream():
    pool = cuda.MemoryPool()
    first = pool.malloc(1000)
    address = first.ptr
    assert pool.used_bytes() == 1024 and pool.total_bytes() == 1024 and pool.n_free_blocks() == 0
    del first
    assert pool.used_bytes() == 0 and pool.free_bytes() == 1024 and pool.n_free_blocks() == 1
    with cuda.Stream():
        assert pool.malloc(1000).ptr != address
    half = pool.malloc(512)
    assert half.ptr == address and pool.malloc(512).ptr == address + 512
    del half
    pool.free_all_blocks()
    assert pool.used_bytes() == 0 and pool.total_bytes() == 0


def test_a_pools_limit_is_kept():
    pool = cuda.MemoryPool()
    pool.set_limit(size=2048)
    held = pool.malloc(1024)
    with pytest.raises(cuda.OutOfMemoryError, match="limit set to: 2,048 bytes"):
        pool.malloc(2048)
    del held
    assert pool.malloc(2048).mem.size == 2048
    pool.set_limit(fraction=0)
    assert pool.get_limit() == 0


def test_memory_that_a_kernel_uses_outlives_its_pointer(compiles):
    pool, stream = cuda.MemoryPool(), cuda.Stream(non_blocking=True)
    with stream:
        kernel = cuda.RawKernel(SCALE, "scale")
        for _ in range(100):
            memory = pool.malloc(16)
            memory.memset_async(0, 16)
            kernel((1,), (4,), (memory, ctypes.c_float(2)))
    del memory
    pool.free_all_blocks()
    stream.synchronize()


def test_using_allocator_is_this_threads():
    pool, seen = cuda.MemoryPool(), []
    with cuda.using_allocator(pool.malloc):
        held = cuda.alloc(100)
        assert pool.used_bytes() == 512
        with pytest.raises(ValueError, match="using_allocator"):
            cuda.set_allocator()
        thread = threading.Thread(target=lambda: seen.append(cuda.get_allocator()))
        thread.start()
        thread.join()
    assert seen == [cuda.get_allocator()] and held.mem.size == 512
    with cuda.using_allocator():
        assert type(cuda.alloc(100).mem) is cuda.Memory


def test_functions_allocate_and_free():
    log = []
    allocator = cuda.PythonFunctionAllocator(
        lambda size, device: log.append(("malloc", size, device)) or 4096,
        lambda address, device: log.append(("free", address, device)),
    )
    memory = allocator.malloc(64)
    assert memory.ptr == 4096
    del memory
    assert log == [("malloc", 64, 0), ("free", 4096, 0)]


def test_other_kinds_of_memory_are_there():
    device = anyplace.Device(f"{anyplace.compat.backend()}:0")
    stream = cuda.Stream()
    with stream:
        assert cuda.malloc_async(100).mem.stream_ref() is stream
    if device.has("managed_memory"):
        managed = cuda.malloc_managed(16)
        managed.memset(5, 16)
        assert bytes((ctypes.c_ubyte * 16).from_address(managed.ptr)) == b"\5" * 16
    assert cuda.malloc_system(16).ptr != 0
    owner = bytearray(16)
    unowned = cuda.UnownedMemory(4096, 16, owner, 0)
    assert unowned.owner is owner and cuda.MemoryPointer(unowned, 4).ptr == 4100
    pool = cuda.MemoryAsyncPool()
    held = pool.malloc(1000)
    assert pool.used_bytes() >= 1000 and pool.total_bytes() == pool.used_bytes() + pool.free_bytes()
    pool.set_limit(size=512)
    with pytest.raises(cuda.OutOfMemoryError):
        pool.malloc(4096)
    pool.set_limit(size=0)
    assert pool.get_limit() == 2**64 - 1 and held.ptr != 0


def test_pinned_memory_is_the_hosts():
    pool = cuda.PinnedMemoryPool()
    pinned = pool.malloc(1000)
    assert pinned.size() == 1024 and cuda.is_memory_pinned(pinned.ptr) and not cuda.is_memory_pinned(1)
    pinned.view()[:4] = b"abcd"
    memory = cuda.alloc(4)
    memory.copy_from_host(pinned.ptr, 4)
    assert host_bytes(memory, 4) == b"abcd"
    address = pinned.ptr
    del pinned
    assert pool.n_free_blocks() == 1 and pool.malloc(600).ptr == address
    pool.free_all_blocks()


def test_hooks_are_called_around_allocations():
    file, pool = io.StringIO(), cuda.MemoryPool()
    with cuda.memory_hooks.DebugPrintHook(file=file):
        with pytest.raises(KeyError), cuda.memory_hooks.DebugPrintHook():
            pass
        memory = pool.malloc(100)
        address = memory.ptr
        del memory
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [each["hook"] for each in lines] == ["alloc", "malloc", "free"]
    assert all(each["mem_ptr"] == address and each["mem_size"] == 512 for each in lines)


def test_a_kernel_of_a_string_runs(compiles):
    memory = cuda.alloc(16)
    numbers = (ctypes.c_float * 4)(1, 2, 3, 4)
    memory.copy_from_host(ctypes.addressof(numbers), 16)
    kernel = cuda.RawKernel(SCALE, "scale")
    kernel((1,), (4,), (memory, ctypes.c_float(10)))
    kernel(1, 4, (memory, ctypes.c_float(2)))
    cuda.get_current_stream().synchronize()
    memory.copy_to_host(ctypes.addressof(numbers), 16)
    assert list(numbers) == [20, 40, 60, 80]
    assert kernel.max_threads_per_block > 0 and kernel.attributes["num_regs"] == kernel.num_regs
    with pytest.raises(ValueError, match="shared memory"):
        kernel.max_dynamic_shared_size_bytes = 1 << 40


def test_a_module_has_kernels_of_templates_and_variables(compiles):
    module = cuda.RawModule(
        code="""
        extern "C" __device__ int counted = 5;
        __constant__ float table[3] = {1, 2, 3};
        template <class T> __global__ void add(T* to, T by) { *to += by; }
        """,
        options=("-DNAME=1", "--std=c++17"),
        name_expressions=("add<int>",),
    )
    counted = module.get_global("counted")
    module.get_function("add<int>")((1,), (1,), (counted, ctypes.c_int(7)))
    cuda.get_current_stream().synchronize()
    assert host_bytes(counted, 4) == (12).to_bytes(4, "little")
    assert module.get_global("table").mem.size == 12
    for use in (lambda: module.get_global("missing"), lambda: module.get_function("missing")):
        with pytest.raises(cuda.CUDADriverError, match="missing"):
            use()


def test_a_source_with_an_error_tells_its_line(compiles):
    with pytest.raises(cuda.CompileException, match="kernels.cu:2") as caught:
        cuda.RawModule(code='\nextern "C" __global__ void broken() { int x = "text"; }').compile()
    assert "0002 extern" in caught.value.source
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_runtimes_functions_go_by_number():
    runtime = cuda.runtime
    stream, event = runtime.streamCreateWithFlags(runtime.streamNonBlocking), runtime.eventCreate()
    memory = runtime.malloc(16)
    assert runtime.pointerGetAttributes(memory).type == runtime.memoryTypeDevice
    runtime.memsetAsync(memory, 7, 16, stream)
    host = runtime.hostAlloc(16)
    runtime.memcpyAsync(host, memory, 16, runtime.memcpyDeviceToHost, stream)
    runtime.eventRecord(event, stream)
    runtime.eventSynchronize(event)
    assert bytes((ctypes.c_ubyte * 16).from_address(host)) == b"\7" * 16
    assert runtime.eventQuery(event) == 0 and runtime.streamQuery(stream) == 0
    called = []
    runtime.streamBeginCapture(stream)
    runtime.launchHostFunc(stream, called.append, 1)
    graph = runtime.streamEndCapture(stream)
    runtime.graphLaunch(runtime.graphInstantiate(graph), stream)
    runtime.streamSynchronize(stream)
    assert called == [1]
    runtime.graphDestroy(graph)
    runtime.freeHost(host)
    runtime.free(memory)
    runtime.eventDestroy(event)
    runtime.streamDestroy(stream)
    assert runtime.getDeviceProperties(0)["name"] == runtime.getDeviceProperties(0)["name"].strip()
    assert runtime.memGetInfo()[1] > 0 and cuda.driver.ctxGetCurrent() != 0


def test_the_interpreter_ends_with_memory_in_use(run):
    program = run(
        "import time\n"
        "from anyplace.compat import cupy_cuda as cuda\n"
        "stream = cuda.Stream(non_blocking=True)\n"
        "held, raw = cuda.alloc(1000), cuda.Memory(1000)\n"
        "stream.launch_host_func(time.sleep, 0.2)\n"
        "for i in range(100): stream.launch_host_func(print, 'late')\n"
        "held.memset_async(0, 1000, stream)\n",
        ANYPLACE_COMPAT=anyplace.compat.backend(),
    )
    assert program.returncode == 0 and program.stderr == "", program.stderr


def test_a_null_stream_is_left_on_the_device_that_it_was_entered_on(second):
    stream = cuda.Stream()
    with stream:
        with cuda.Stream.null:
            with cuda.Device(second):
                pass
            cuda.Device(second).use()
        cuda.Device(0).use()
        assert cuda.get_current_stream() is stream
    with pytest.raises(RuntimeError, match="entered"):
        stream.__exit__(None, None, None)
