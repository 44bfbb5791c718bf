# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs: medians of nine rounds, in nanoseconds.

    python python/bench/calls.py [PLACE]        cpu_sim:0 if not given
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import anyplace

ROUNDS = 9
ADD = 'extern "C" __global__ void nothing(%s) {}'


def median_ns(call: Callable[[], object], settle: Callable[[], object], repeats: int = 20_000) -> float:
    """The time of one call, without that of the loop around it. `settle` waits for the work after each round."""
    times = []
    empty = []
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(repeats):
            call()
        times.append((time.perf_counter_ns() - start) / repeats)
        settle()
        start = time.perf_counter_ns()
        for _ in range(repeats):
            pass
        empty.append((time.perf_counter_ns() - start) / repeats)
    return statistics.median(times) - statistics.median(empty)


def import_ms() -> float:
    """How much longer an interpreter takes that imports the package."""

    def run(source: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", source], check=True)
        return (time.perf_counter() - start) * 1e3

    pairs = [(run("import anyplace"), run("pass")) for _ in range(ROUNDS)]
    return statistics.median(a for a, _ in pairs) - statistics.median(b for _, b in pairs)


def launches(place: str, count: int) -> Callable[[], object] | None:
    try:
        module = anyplace.Module.compile(place, ADD % ", ".join(f"float* p{i}" for i in range(count)))
    except anyplace.UnsupportedError:
        return None
    launch = module.kernel("nothing")[1, 1]
    arguments = [anyplace.Buffer(STREAM, 256)] * count
    return lambda: launch(STREAM, *arguments)


def main() -> None:
    event = anyplace.Event(STREAM.device)
    device = STREAM.device
    rows: list[tuple[str, float, Callable[[], object] | None]] = [
        ("event.record(stream)", 110, lambda: event.record(STREAM)),
        ("event.query()", 80, event.query),
        ("Event() made and dropped", 300, lambda: anyplace.Event(device)),
        ("launch with 3 arguments", 400, launches(device.place, 3)),
        ("launch with 16 arguments", 1200, launches(device.place, 16)),
        ("Buffer of 4 KiB from the cache and back", 300, lambda: anyplace.Buffer(STREAM, 4096)),
    ]
    print(f"| call on {device} | ns | target |\n|---|---|---|")
    for name, target, call in rows:
        # A launch is measured over fewer calls, so that the queue of work stays short.
        repeats = 500 if name.startswith("launch") else 20_000
        text = "no compiler" if call is None else f"{median_ns(call, STREAM.synchronize, repeats):.0f}"
        print(f"| {name} | {text} | {target} |")
    print(f"| import anyplace | {import_ms():.1f} ms | 30 ms |")


if __name__ == "__main__":
    STREAM = anyplace.Stream(sys.argv[1] if len(sys.argv) > 1 else "cpu_sim:0")
    main()
