# SPDX-License-Identifier: Apache-2.0
"""What a copy and an event cost through Paddle on an anyplace device, beside the same on Paddle's own CPU.

    CUSTOM_DEVICE_ROOT=/where/the/plug-in/is python cost.py [anyplace:0]

Prints rows of a Markdown table: the best of several rounds, in microseconds a call. Paddle's CPU has no streams and no events. An
addition is what a fallback costs: both operands go to the CPU, and the result comes back."""
import sys
import time

import numpy
import paddle

ROUNDS = 5
CALLS = 200


def best(call, calls=CALLS):
    call()
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        rounds.append((time.perf_counter() - begin) / calls)
    return min(rounds) * 1e6


def copies(place, elements):
    """A tensor made of a NumPy array; back to one; a copy on the device; and an addition."""
    paddle.set_device(place)
    array = numpy.ones(elements, dtype="float32")
    tensor = paddle.to_tensor(array)
    calls = CALLS if elements <= 1 << 18 else 5
    return [best(lambda: paddle.to_tensor(array), calls), best(lambda: tensor.numpy(), calls),
            best(lambda: tensor.clone(), calls), best(lambda: tensor + tensor, calls)]


def main(place):
    print(f"| | {place}, µs | Paddle's CPU, µs |\n|---|---|---|")
    for name, elements in (("4 B", 1), ("1 MiB", 1 << 18), ("64 MiB", 1 << 24)):
        rows = zip(("to_tensor(array)", "tensor.numpy()", "tensor.clone()", "tensor + tensor"), copies(place, elements), copies("cpu", elements))
        for what, here, cpu in rows:
            print(f"| `{what}`, {name} | {here:.1f} | {cpu:.1f} |")
    paddle.set_device(place)
    stream, event = paddle.device.Stream(), paddle.device.Event()
    print(f"| `event.record(stream)` | {best(lambda: event.record(stream)):.2f} | - |")
    print(f"| `event.record(stream); event.synchronize()` | {best(lambda: (event.record(stream), event.synchronize())):.2f} | - |")
    print(f"| `stream.synchronize()` | {best(stream.synchronize):.2f} | - |")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "anyplace:0")
