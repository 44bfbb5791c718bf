#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a copy, an event and an operator cost through torch on anyplace:0, beside the CPU's own.

  ANYPLACE_TORCH_PLACES=cpu_sim python cost.py

Prints a table in Markdown: microseconds for one call, the best of five rounds, and what stands beside it."""
import time

import torch
import torch_anyplace  # noqa: F401

DEVICE = torch.device("anyplace:0")
ROUNDS, SECONDS = 5, 0.1


def microseconds(call):
    """The best of some rounds, each as long as SECONDS at least."""
    repeats, best = 1, float("inf")
    call()
    while True:
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        taken = time.perf_counter() - start
        if taken >= SECONDS:
            break
        repeats = max(repeats * 2, int(repeats * SECONDS / max(taken, 1e-9)))
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (time.perf_counter() - start) / repeats)
        torch.anyplace.synchronize()
    return best * 1e6


def copies(elements):
    host, other = torch.ones(elements), torch.empty(elements)
    pinned = host.pin_memory()
    ours, second = host.to(DEVICE), torch.empty(elements, device=DEVICE)
    on_cpu = microseconds(lambda: other.copy_(host))

    def there():
        ours.copy_(pinned, non_blocking=True)
        torch.anyplace.current_stream().synchronize()

    size = f"{elements * 4 // 1024} KiB"
    yield f"copy of {size} to the device, from ordinary memory", microseconds(lambda: ours.copy_(host)), on_cpu
    yield f"copy of {size} to the device, pinned, and synchronise", microseconds(there), on_cpu
    yield f"copy of {size} from the device", microseconds(lambda: other.copy_(ours)), on_cpu
    yield f"copy of {size} on the device, and synchronise", microseconds(
        lambda: (second.copy_(ours), torch.anyplace.current_stream().synchronize())), on_cpu


def main():
    torch.set_num_threads(1)  # the CPU's figures are of one thread; with more, small machines measure their waiting
    print(f"On {torch.anyplace.place(0)}, torch {torch.__version__}. Microseconds.\n")
    print("| | anyplace:0 | the CPU's own |\n|-|-:|-:|")
    for elements in (1024, 1 << 20):
        for name, ours, cpus in copies(elements):
            print(f"| {name} | {ours:.2f} | {cpus:.2f} (copy_) |")
    event, stream = torch.anyplace.Event(), torch.anyplace.Stream()
    nothing = microseconds(lambda: event.device)
    print(f"| record an event | {microseconds(lambda: event.record(stream)):.2f} | {nothing:.2f} (a call of torch's that does nothing) |")
    print(f"| record and wait for it | {microseconds(lambda: (event.record(stream), event.synchronize())):.2f} | {nothing:.2f} |")
    print(f"| make another stream wait | {microseconds(lambda: torch.anyplace.current_stream().wait_event(event)):.2f} | {nothing:.2f} |")
    a, b = torch.ones(1024, device=DEVICE), torch.ones(1024)
    print(f"| allocate 4 KiB and free | {microseconds(lambda: torch.empty(1024, device=DEVICE)):.2f} | "
          f"{microseconds(lambda: torch.empty(1024)):.2f} |")
    print(f"| fill 4 KiB | {microseconds(lambda: a.fill_(1)):.2f} | {microseconds(lambda: b.fill_(1)):.2f} |")
    print(f"| add 1024 numbers (there, on the CPU, and back) | {microseconds(lambda: a + a):.2f} | {microseconds(lambda: b + b):.2f} |")


if __name__ == "__main__":
    main()
