#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The calls of call_cost.cpp through torch.cuda and CuPy, for the table of run_calls: JSON on standard output,
{"torch 2.4": {"record": [nanoseconds, one for each repetition]}}. What isn't there is left out, with a line on standard error.

  bench/call_cost_torch_cupy.py [--device 0] [--repetitions 15]

The time of Python itself is in it: that is what a user of these pays. A kernel of torch is torch.cuda._sleep(0), the shortest that
it launches without touching memory; torch takes its streams out of a pool instead of making them."""
import argparse
import json
import sys
import time

BATCH, SMALL = 256, 32


def median_runs(cases, repetitions):
    """The repetitions are interleaved over the cases, so that a slow moment hits all alike."""
    found = {name: [] for name in cases}
    for _ in range(repetitions):
        for name, (calls, run, settle) in cases.items():
            run()
            settle()
            start = time.perf_counter_ns()
            for _ in range(calls):
                run()
            end = time.perf_counter_ns()
            settle()
            found[name].append((end - start) / calls)
    return found


def torch_cases(device):
    import torch
    if not torch.cuda.is_available():
        raise RuntimeError("it sees no CUDA device")
    torch.cuda.set_device(device)
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    memory = torch.zeros(1, dtype=torch.float32, device="cuda")
    host = torch.zeros(1, dtype=torch.float32).pin_memory()
    torch.cuda.synchronize()
    event.record(stream)
    settle = stream.synchronize

    def event_create_destroy():
        torch.cuda.Event().record(stream)  # it makes the event at its first record

    def launch():
        torch.cuda._sleep(0)

    def launch_synchronize():
        torch.cuda._sleep(0)
        stream.synchronize()

    torch.cuda.set_stream(stream)
    return f"torch {torch.__version__}", {
        "stream_create_destroy": (SMALL, torch.cuda.Stream, settle),
        "event_create_destroy": (SMALL, event_create_destroy, settle),
        "record": (BATCH, lambda: event.record(stream), settle),
        "wait": (BATCH, lambda: stream.wait_event(event), settle),
        "event_query": (BATCH, event.query, settle),
        "stream_query": (BATCH, stream.query, settle),
        "launch": (BATCH, launch, settle),
        "copy_4_bytes": (SMALL, lambda: memory.copy_(host, non_blocking=True), settle),
        "synchronize": (SMALL, stream.synchronize, settle),
        "launch_synchronize": (SMALL, launch_synchronize, settle),
    }


def cupy_cases(device):
    import cupy
    cupy.cuda.Device(device).use()
    stream, event = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Event(disable_timing=True)
    kernel = cupy.RawKernel('extern "C" __global__ void empty() {}', "empty")
    memory = cupy.zeros(1, dtype=cupy.float32)
    host = cupy.cuda.alloc_pinned_memory(4)
    cupy.cuda.Device(device).synchronize()
    event.record(stream)
    stream.use()
    settle = stream.synchronize

    def launch():
        kernel((1,), (1,), ())

    def launch_synchronize():
        kernel((1,), (1,), ())
        stream.synchronize()

    return f"cupy {cupy.__version__}", {
        "stream_create_destroy": (SMALL, lambda: cupy.cuda.Stream(non_blocking=True), settle),
        "event_create_destroy": (SMALL, lambda: cupy.cuda.Event(disable_timing=True), settle),
        "record": (BATCH, lambda: event.record(stream), settle),
        "wait": (BATCH, lambda: stream.wait_event(event), settle),
        "event_query": (BATCH, lambda: event.done, settle),
        "stream_query": (BATCH, lambda: stream.done, settle),
        "launch": (BATCH, launch, settle),
        "copy_4_bytes": (SMALL, lambda: memory.data.copy_from_host_async(host.ptr, 4, stream), settle),
        "synchronize": (SMALL, stream.synchronize, settle),
        "launch_synchronize": (SMALL, launch_synchronize, settle),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--repetitions", type=int, default=15)
    options = parser.parse_args()
    found = {}
    for library, make in (("torch", torch_cases), ("cupy", cupy_cases)):
        try:
            name, cases = make(options.device)
            found[name] = median_runs(cases, options.repetitions)
        except Exception as error:  # not installed, or no device: both say so in many ways
            print(f"{library}: left out, {str(error).splitlines()[0] if str(error) else type(error).__name__}", file=sys.stderr)
    json.dump(found, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
