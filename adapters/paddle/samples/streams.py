# SPDX-License-Identifier: Apache-2.0
"""Streams and events of Paddle's on an anyplace device: what Paddle's pages of paddle.device.Stream and Event show, with the results
checked.

    CUSTOM_DEVICE_ROOT=/where/the/plug-in/is python streams.py [anyplace:0]"""
import sys

import numpy
import paddle


def main(place):
    paddle.set_device(place)
    first, second = paddle.device.Stream(), paddle.device.Stream(place)
    with paddle.device.stream_guard(first):
        assert paddle.device.current_stream()._as_parameter_.value == first._as_parameter_.value
        numbers = paddle.arange(12, dtype="float32").reshape([3, 4])
        doubled = numbers * 2
    event = first.record_event()
    second.wait_event(event)
    second.wait_stream(first)
    with paddle.device.stream_guard(second):
        total = (doubled + 1).sum()
    second.synchronize()
    assert first.query() and second.query()

    again = paddle.device.Event()
    assert again.query(), "an event that was never recorded is complete"
    again.record(second)
    again.synchronize()
    assert again.query() and event.query()
    paddle.device.synchronize()

    assert str(total.place) == f"Place({place})", total.place
    numpy.testing.assert_array_equal(doubled.numpy(), numpy.arange(12, dtype="float32").reshape(3, 4) * 2)
    assert float(total) == 2 * 66 + 12
    print(f"streams and events on {place}: sum {float(total):g}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "anyplace:0")
