# SPDX-License-Identifier: Apache-2.0
"""cupy.cuda.runtime: CUDA's runtime by number, as CuPy has it, for devices, streams, events and memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyplace

from .. import _shared
from . import profiler as _profiler
from ._errors import CUDARuntimeError, cupy_errors
from .device import _attributes_of

is_hip = False

memoryTypeUnregistered, memoryTypeHost, memoryTypeDevice, memoryTypeManaged = 0, 1, 2, 3
hostAllocDefault, hostAllocPortable, hostAllocMapped, hostAllocWriteCombined = 0, 1, 2, 4
memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = 0, 1, 2, 3, 4
streamDefault, streamNonBlocking = 0, 1
streamLegacy, streamPerThread = _shared.LEGACY_HANDLE, _shared.PER_THREAD_HANDLE
eventDefault, eventBlockingSync, eventDisableTiming, eventInterprocess = 0, 1, 2, 4
streamCaptureModeGlobal, streamCaptureModeThreadLocal, streamCaptureModeRelaxed = 0, 1, 2
streamCaptureStatusNone, streamCaptureStatusActive, streamCaptureStatusInvalidated = 0, 1, 2
memAttachGlobal, memAttachHost, memAttachSingle = 1, 2, 4
cudaMemAdviseSetReadMostly = 1
cudaCpuDeviceId = -1
errorInvalidValue, errorMemoryAllocation, errorPeerAccessAlreadyEnabled = 1, 2, 704
errorContextIsDestroyed, errorInvalidResourceHandle = 709, 400
cudaGraphDebugDotFlagsVerbose = 1

# The attributes that devices here tell, by the numbers of cudaDeviceAttr.
_ATTRIBUTES = {
    1: "MaxThreadsPerBlock",
    2: "MaxBlockDimX",
    3: "MaxBlockDimY",
    4: "MaxBlockDimZ",
    5: "MaxGridDimX",
    6: "MaxGridDimY",
    7: "MaxGridDimZ",
    8: "MaxSharedMemoryPerBlock",
    10: "WarpSize",
    13: "ClockRate",
    16: "MultiProcessorCount",
    36: "MemoryClockRate",
    37: "GlobalMemoryBusWidth",
    38: "L2CacheSize",
    41: "UnifiedAddressing",
    75: "ComputeCapabilityMajor",
    76: "ComputeCapabilityMinor",
    78: "StreamPrioritiesSupported",
    83: "ManagedMemory",
    97: "MaxSharedMemoryPerBlockOptin",
    99: "HostRegisterSupported",
    115: "MemoryPoolsSupported",
}
cudaDevAttrMaxThreadsPerBlock = 1
cudaDevAttrWarpSize = 10
cudaDevAttrMultiProcessorCount = 16
cudaDevAttrComputeCapabilityMajor = 75
cudaDevAttrComputeCapabilityMinor = 76
cudaDevAttrManagedMemory = 83
cudaDevAttrMemoryPoolsSupported = 115

# What was made here by number, kept until it is destroyed by number.
_lock = threading.Lock()
_kept: dict[tuple[str, int], Any] = {}
_addresses = _shared.Addresses()


def _keep(kind: str, number: int, thing: Any) -> int:
    with _lock:
        _kept[(kind, number)] = thing
    return number


def _drop(kind: str, number: int) -> Any:
    with _lock:
        thing = _kept.pop((kind, number), None)
    if thing is None:
        raise CUDARuntimeError(400, f"{number:#x} is no {kind} that was made here")
    return thing


def _get(kind: str, number: int) -> Any:
    with _lock:
        thing = _kept.get((kind, number))
    if thing is None:
        raise CUDARuntimeError(400, f"{number:#x} is no {kind} that was made here")
    return thing


def _stream(ptr: int) -> anyplace.Stream:
    try:
        return _shared.ref_of_handle(ptr, _shared.current()).stream
    except ValueError as error:
        raise CUDARuntimeError(400, str(error)) from error


# -- Devices.


def driverGetVersion() -> int:
    """13000: what CuPy asks for is there whatever the driver is."""
    return 13000


def runtimeGetVersion() -> int:
    return 13000


def _getCUDAMajorVersion() -> int:
    return runtimeGetVersion() // 1000


@cupy_errors
def getDeviceCount() -> int:
    return _shared.count()


@cupy_errors
def getDevice() -> int:
    return _shared.current().index


@cupy_errors
def setDevice(device: int) -> None:
    _device(device)
    _shared.set_current(device)


def _device(device: int) -> anyplace.Device:
    if device < 0:
        raise CUDARuntimeError(101, f"there is no device {device}")
    return _shared.device_at(device)


@cupy_errors
def deviceSynchronize() -> None:
    _shared.current().synchronize()


@cupy_errors
def deviceGetAttribute(attrib: int, device: int) -> int:
    found = _attributes_of(_device(device)).get(_ATTRIBUTES.get(attrib, ""))
    if found is None:
        raise CUDARuntimeError(1, f"the device doesn't tell the attribute {attrib}")
    return found


@cupy_errors
def deviceGetPCIBusId(device: int) -> str:
    return _device(device).properties.pci


def deviceGetByPCIBusId(pciBusId: str) -> int:
    from .device import Device

    return Device.from_pci_bus_id(pciBusId).id


@cupy_errors
def getDeviceProperties(device: int) -> dict[str, Any]:
    """The properties that the device tells, by the names of cudaDeviceProp; name is bytes, as CuPy's is."""
    where = _device(device)
    facts = where.properties
    major, minor = _shared.capability_of(where)
    return {
        "name": facts.name.encode(),
        "totalGlobalMem": facts.total_memory or 0,
        "sharedMemPerBlock": facts.max_shared_bytes,
        "warpSize": max(facts.sub_group_sizes, default=1),
        "maxThreadsPerBlock": facts.max_threads_per_block,
        "maxThreadsDim": facts.max_block,
        "maxGridSize": facts.max_grid,
        "clockRate": (facts.clock_hz or 0) // 1000,
        "memoryClockRate": (facts.memory_clock_hz or 0) // 1000,
        "memoryBusWidth": facts.memory_bus_bits or 0,
        "l2CacheSize": facts.l2_cache_bytes or 0,
        "multiProcessorCount": facts.multiprocessors or facts.compute_units,
        "major": major,
        "minor": minor,
        "gcnArchName": facts.architecture,
        "uuid": facts.uuid.encode(),
        "managedMemory": int(where.has("managed_memory")),
    }


@cupy_errors
def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    return int(device != peerDevice and _device(device).can_access_peer(_device(peerDevice)))


@cupy_errors
def deviceEnablePeerAccess(peerDevice: int) -> None:
    _shared.current().enable_peer_access(_device(peerDevice))


@cupy_errors
def deviceDisablePeerAccess(peerDevice: int) -> None:
    _shared.current().disable_peer_access(_device(peerDevice))


@cupy_errors
def memGetInfo() -> tuple[int, int]:
    return _shared.mem_get_info(_shared.current())


# -- Memory.


def _buffer(size: int, kind: str) -> int:
    device = _shared.current()
    if size == 0:
        return 0
    if kind == "managed":
        return _addresses.put(anyplace.Buffer(device.default_stream, size, kind="managed"))
    return _addresses.put(anyplace.Buffer(device.default_stream, size))


@cupy_errors
def malloc(size: int) -> int:
    return _buffer(size, "device")


@cupy_errors
def mallocManaged(size: int, flags: int = memAttachGlobal) -> int:
    return _buffer(size, "managed")


@cupy_errors
def mallocAsync(size: int, stream: int) -> int:
    return _addresses.put(anyplace.Buffer(_stream(stream), size)) if size else 0


@cupy_errors
def free(ptr: int) -> None:
    """Waits for the device, as CUDA's own does."""
    if ptr:
        buffer = _addresses.take(ptr)
        if buffer is None:
            raise CUDARuntimeError(1, f"{ptr:#x} is no address that malloc gave")
        buffer.device.synchronize()


@cupy_errors
def freeAsync(ptr: int, stream: int) -> None:
    """In the order of the stream."""
    if ptr:
        buffer = _addresses.take(ptr)
        if buffer is None:
            raise CUDARuntimeError(1, f"{ptr:#x} is no address that mallocAsync gave")
        buffer.record_stream(_stream(stream))


@cupy_errors
def hostAlloc(size: int, flags: int = 0) -> int:
    memory = anyplace.HostBuffer(_shared.current(), size)
    return _keep("pinned memory", memory.address, memory)


@cupy_errors
def freeHost(ptr: int) -> None:
    if ptr:
        _drop("pinned memory", ptr)


@cupy_errors
def hostRegister(ptr: int, size: int, flags: int = 0) -> None:
    _keep("registered memory", ptr, anyplace.HostRegistration(_shared.current(), ptr, size))


@cupy_errors
def hostUnregister(ptr: int) -> None:
    _drop("registered memory", ptr).close()


@cupy_errors
def memcpy(dst: int, src: int, size: int, kind: int = memcpyDefault) -> None:
    stream = _shared.current().default_stream
    stream.copy_address(dst, src, size)
    stream.synchronize()


@cupy_errors
def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    _stream(stream).copy_address(dst, src, size)


def memcpyPeer(dst: int, dstDevice: int, src: int, srcDevice: int, size: int) -> None:
    memcpy(dst, src, size)


@cupy_errors
def memcpyPeerAsync(dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int) -> None:
    _stream(stream).copy_address(dst, src, size)


@cupy_errors
def memset(ptr: int, value: int, size: int) -> None:
    stream = _shared.current().default_stream
    stream.fill_address(ptr, bytes([value & 0xFF]), size)
    stream.synchronize()


@cupy_errors
def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:
    _stream(stream).fill_address(ptr, bytes([value & 0xFF]), size)


class PointerAttributes:
    """What is known of an address: device, devicePointer, hostPointer, type."""

    def __init__(self, device: int, devicePointer: int, hostPointer: int, type: int) -> None:
        self.device = device
        self.devicePointer = devicePointer
        self.hostPointer = hostPointer
        self.type = type


_MEMORY_TYPES = {"device": 2, "managed": 3, "pinned": 1, "registered": 1, "unknown": 0}


@cupy_errors
def pointerGetAttributes(ptr: int) -> PointerAttributes:
    known = anyplace.pointer_attributes(ptr)
    kind = _MEMORY_TYPES[known["kind"]]
    device = -2 if known["device"] is None else known["device"].index
    return PointerAttributes(device, ptr if kind >= 1 else 0, ptr if kind != 2 else 0, kind)


def pointerGetMemoryType(ptr: int) -> int:
    return pointerGetAttributes(ptr).type


# -- Pools of memory, of which a program has the handles.

cudaMemAllocationTypePinned, cudaMemHandleTypeNone, cudaMemLocationTypeDevice = 1, 0, 1


class MemPoolProps:
    """Which device a pool is of."""

    def __init__(self, allocType: int, handleType: int, locationType: int, devId: int) -> None:
        if locationType != cudaMemLocationTypeDevice or handleType != cudaMemHandleTypeNone:
            raise NotImplementedError("MemPoolProps: pools are of a device, and have no handles for other processes")
        self.devId = devId


@cupy_errors
def memPoolCreate(props: MemPoolProps) -> int:
    pool = anyplace.MemoryPool(_device(props.devId))
    return _keep("pool", pool.id, pool)


def memPoolDestroy(pool: int) -> None:
    _drop("pool", pool)


@cupy_errors
def memPoolTrimTo(pool: int, size: int) -> None:
    """Gives all free memory of the pool back."""
    _get("pool", pool).release_free()


@cupy_errors
def mallocFromPoolAsync(size: int, pool: int, stream: int) -> int:
    with _get("pool", pool):
        return mallocAsync(size, stream)


# -- Streams.


def _keep_stream(priority: int, blocking: bool) -> int:
    ref = _shared.ref_of(anyplace.Stream(_shared.current(), priority=priority, blocking=blocking))
    return _keep("stream", ref.handle, ref)


@cupy_errors
def streamCreate() -> int:
    return _keep_stream(0, True)


@cupy_errors
def streamCreateWithFlags(flags: int) -> int:
    return _keep_stream(0, flags != streamNonBlocking)


@cupy_errors
def streamCreateWithPriority(flags: int, priority: int) -> int:
    return _keep_stream(priority, flags != streamNonBlocking)


def streamDestroy(stream: int) -> None:
    """Its work goes on."""
    _drop("stream", stream)


@cupy_errors
def streamGetPriority(stream: int) -> int:
    return _stream(stream).priority


@cupy_errors
def streamSynchronize(stream: int) -> None:
    _stream(stream).synchronize()


@cupy_errors
def streamQuery(stream: int) -> int:
    """0: done; 600: not yet."""
    return 0 if _stream(stream).query() else 600


@cupy_errors
def streamAddCallback(stream: int, callback: Callable[[int, int, Any], object], arg: Any, flags: int = 0) -> None:
    _stream(stream).launch_host_func(callback, stream, 0, arg)


@cupy_errors
def launchHostFunc(stream: int, callback: Callable[[Any], object], arg: Any) -> None:
    _stream(stream).launch_host_func(callback, arg)


@cupy_errors
def streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    _stream(stream).wait_event(_get("event", event))


@cupy_errors
def streamBeginCapture(stream: int, mode: int = streamCaptureModeRelaxed) -> None:
    _stream(stream).begin_capture(("global", "thread_local", "relaxed")[mode])


@cupy_errors
def streamEndCapture(stream: int) -> int:
    graph = _stream(stream).end_capture()
    return _keep("graph", id(graph), graph)


@cupy_errors
def streamIsCapturing(stream: int) -> bool:
    return _stream(stream).is_capturing


# -- Events.


@cupy_errors
def eventCreate() -> int:
    return eventCreateWithFlags(eventDefault)


@cupy_errors
def eventCreateWithFlags(flags: int) -> int:
    event = anyplace.Event(
        _shared.current(),
        timing=not flags & eventDisableTiming,
        blocking_sync=bool(flags & eventBlockingSync),
        interprocess=bool(flags & eventInterprocess),
    )
    return _keep("event", _shared.event_handle(event), event)


def eventDestroy(event: int) -> None:
    _drop("event", event)


@cupy_errors
def eventRecord(event: int, stream: int) -> None:
    _get("event", event).record(_stream(stream))


@cupy_errors
def eventQuery(event: int) -> int:
    return 0 if _get("event", event).query() else 600


@cupy_errors
def eventSynchronize(event: int) -> None:
    _get("event", event).synchronize()


@cupy_errors
def eventElapsedTime(start: int, end: int) -> float:
    return float(_get("event", start).elapsed_time(_get("event", end)))


# -- Graphs.


@cupy_errors
def graphInstantiate(graph: int) -> int:
    """The same number: a graph has its executable with it."""
    _get("graph", graph).instantiate()
    return graph


@cupy_errors
def graphLaunch(graphExec: int, stream: int) -> None:
    _get("graph", graphExec).launch(_stream(stream))


def graphUpload(graphExec: int, stream: int) -> None:
    """Nothing is left to do."""


def graphDestroy(graph: int) -> None:
    _drop("graph", graph)


def graphExecDestroy(graphExec: int) -> None:
    """Nothing: graphDestroy gives both up."""


# -- Other processes.


@cupy_errors
def ipcGetEventHandle(event: int) -> bytes:
    return anyplace.ipc.export_event(_get("event", event))


@cupy_errors
def ipcOpenEventHandle(handle: bytes) -> int:
    event = anyplace.ipc.import_event(_shared.current(), handle)
    return _keep("event", _shared.event_handle(event), event)


@cupy_errors
def ipcOpenMemHandle(handle: bytes, flags: int = 1) -> int:
    return _addresses.put(anyplace.ipc.import_buffer(_shared.current().default_stream, handle))


def ipcCloseMemHandle(ptr: int) -> None:
    _addresses.take(ptr)


ipcGetMemHandle = _shared.refusing(
    "runtime.ipcGetMemHandle", "memory for other processes is made with Buffer(shareable=True)"
)


def profilerStart() -> None:
    _profiler.start()


def profilerStop() -> None:
    _profiler.stop()
