# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs: medians of nine rounds, in nanoseconds of the calling thread's processor time, which a busy
machine changes little, beside other libraries' calls in the same run.

    python python/bench/calls.py [PLACE]        cpu_sim:0 if not given

torch's are calls on the CPU. cuda.core's and cuda.bindings' need a driver: PLACE is cuda:0 then, by NVIDIA or by the double that
anyplace is tested with (LD_LIBRARY_PATH=build/tests/doubles/cuda), on which anyplace's rows are as well.
"""

import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import anyplace

ROUNDS = 9
ADD = 'extern "C" __global__ void nothing(%s) {}'
Call = Callable[[], object]


class Figures:
    """Times of calls, round by round, so that what disturbs the machine disturbs all of them."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, str], tuple[Call, Call, int]] = {}

    def add(self, row: str, column: str, call: Call, settle: Call = lambda: None, repeats: int = 10_000) -> None:
        """`settle` waits for the work after each round. A launch is measured over fewer calls, so that queues stay short."""
        try:
            call()
            settle()
        except Exception as error:
            print(f"{column}, {row}: left out, {type(error).__name__}: {error}", file=sys.stderr)
            return
        self.calls[row, column] = call, settle, repeats

    def medians(self) -> dict[tuple[str, str], float]:
        times: dict[tuple[str, str], list[float]] = {key: [] for key in self.calls}
        for _ in range(ROUNDS):
            for key, (call, settle, repeats) in self.calls.items():
                times[key].append(_time(call, repeats) - _time(None, repeats))
                settle()
        return {key: statistics.median(each) for key, each in times.items()}


def _time(call: Call | None, repeats: int) -> float:
    start = time.thread_time_ns()
    if call is None:
        for _ in range(repeats):
            pass
    else:
        for _ in range(repeats):
            call()
    return (time.thread_time_ns() - start) / repeats


def import_ms(name: str) -> float:
    """How much longer an interpreter takes that imports the package."""

    def run(source: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", source], check=True)
        return (time.perf_counter() - start) * 1e3

    run(f"import {name}")
    pairs = [(run(f"import {name}"), run("pass")) for _ in range(ROUNDS)]
    return statistics.median(a - b for a, b in pairs)


RECORD, QUERY, EVENT = "event.record(stream)", "event.query()", "Event() made and dropped"
LAUNCH_3, LAUNCH_16 = "launch with 3 arguments", "launch with 16 arguments"
BUFFER = "Buffer of 4 KiB from the cache and back"
TAKEN, GIVEN = "from_dlpack of torch's tensor", "torch.from_dlpack of an Array"
TARGETS = {RECORD: 110, QUERY: 80, EVENT: 300, LAUNCH_3: 400, LAUNCH_16: 1200, BUFFER: 300}


def add_own(figures: Figures, stream: anyplace.Stream) -> None:
    device = stream.device
    event = anyplace.Event(device)
    settle = stream.synchronize
    figures.add(RECORD, "anyplace", lambda: event.record(stream), settle)
    figures.add(QUERY, "anyplace", event.query)
    figures.add(EVENT, "anyplace", lambda: anyplace.Event(device))
    figures.add(BUFFER, "anyplace", lambda: anyplace.Buffer(stream, 4096), settle)
    for row, count in ((LAUNCH_3, 3), (LAUNCH_16, 16)):
        try:
            module = anyplace.Module.compile(device, ADD % ", ".join(f"float* p{i}" for i in range(count)))
        except anyplace.Error as error:
            print(f"anyplace, {row}: left out, {error}", file=sys.stderr)
            continue
        launch = module.kernel("nothing")[1, 1]
        arguments = [anyplace.Buffer(stream, 256)] * count
        figures.add(row, "anyplace", lambda launch=launch, args=arguments: launch(stream, *args), settle, 500)


def add_torch(figures: Figures, stream: anyplace.Stream) -> None:
    import torch

    event = torch.Event("cpu")
    theirs = torch.Stream("cpu") if hasattr(torch, "Stream") else None
    figures.add(RECORD, "torch (CPU)", lambda: event.record(theirs))
    figures.add(QUERY, "torch (CPU)", event.query)
    figures.add(EVENT, "torch (CPU)", lambda: torch.Event("cpu"))
    figures.add(BUFFER, "torch (CPU)", lambda: torch.empty(4096, dtype=torch.uint8))
    tensor, array = torch.zeros(16), anyplace.zeros(16, stream=stream)
    figures.add(TAKEN, "anyplace", lambda: anyplace.from_dlpack(tensor))
    figures.add(GIVEN, "anyplace", lambda: torch.from_dlpack(array))
    figures.add(TAKEN, "torch (CPU)", lambda: torch.from_dlpack(tensor))


def add_cuda_core(figures: Figures) -> None:
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    event = device.create_event()
    figures.add(RECORD, "cuda.core", lambda: stream.record(event), stream.sync)
    figures.add(QUERY, "cuda.core", lambda: event.is_done)
    figures.add(EVENT, "cuda.core", lambda: device.create_event())
    figures.add(BUFFER, "cuda.core", lambda: device.allocate(4096, stream=stream).close(), stream.sync)


def add_cuda_bindings(figures: Figures) -> None:
    from cuda.bindings import driver

    def done(result: tuple[Any, ...]) -> Any:
        if int(result[0]) != 0:
            raise RuntimeError(str(result[0]))
        return result[1] if len(result) > 1 else None

    done(driver.cuInit(0))
    context = done(driver.cuDevicePrimaryCtxRetain(done(driver.cuDeviceGet(0))))
    done(driver.cuCtxSetCurrent(context))
    stream = done(driver.cuStreamCreate(0))
    event = done(driver.cuEventCreate(2))
    settle = lambda: driver.cuStreamSynchronize(stream)  # noqa: E731
    figures.add(RECORD, "cuda.bindings", lambda: driver.cuEventRecord(event, stream), settle)
    figures.add(QUERY, "cuda.bindings", lambda: driver.cuEventQuery(event))
    figures.add(EVENT, "cuda.bindings", lambda: driver.cuEventDestroy(driver.cuEventCreate(2)[1]))


def main(place: str) -> None:
    stream = anyplace.Stream(place)
    figures = Figures()
    add_own(figures, stream)
    peers: list[tuple[str, Callable[[], None]]] = []
    if stream.device.backend == "cpu_sim":
        peers = [("torch", lambda: add_torch(figures, stream))]
    if stream.device.backend == "cuda":
        peers = [("cuda.core", lambda: add_cuda_core(figures)), ("cuda.bindings", lambda: add_cuda_bindings(figures))]
    for name, add in peers:
        try:
            add()
        except Exception as error:
            print(f"{name}: left out, {type(error).__name__}: {error}", file=sys.stderr)
    medians = figures.medians()
    columns = list(dict.fromkeys(column for _, column in medians))
    print(f"| ns a call, on {stream.device} | target | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}")
    for row in dict.fromkeys(row for row, _ in medians):
        texts = [f"{medians[row, column]:.0f}" if (row, column) in medians else "" for column in columns]
        print(f"| {row} | {TARGETS.get(row, '')} | {' | '.join(texts)} |")
    imports = [name for name in ("anyplace", "numpy", "torch", "cuda.core") if name == "anyplace" or _is_there(name)]
    print(f"\nimport, ms (target 30): {', '.join(f'{name} {import_ms(name):.1f}' for name in imports)}")


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cpu_sim:0")
