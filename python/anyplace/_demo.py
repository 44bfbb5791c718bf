# SPDX-License-Identifier: Apache-2.0
"""python -m anyplace demo: a pipeline of two streams, which needs neither a compiler nor a GPU."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ._core import Buffer, Device, Event, HostBuffer, Stream
from ._errors import Error


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status: 0 if every byte is right, 1 if one isn't or the device can't be used."""
    parser = argparse.ArgumentParser(
        prog="python -m anyplace demo",
        description="Fills pieces of memory on one stream, joins them on another, and checks every byte on the host.",
    )
    parser.add_argument("place", nargs="?", default="cpu_sim:0", help="the device, such as cuda:0 or auto (cpu_sim:0)")
    parser.add_argument("--pieces", type=int, default=8, metavar="N", help="how many, of 1 MiB each; 1 to 64 (8)")
    options = parser.parse_args(arguments)
    if not 1 <= options.pieces <= 64:
        parser.error(f"--pieces: {options.pieces} isn't from 1 to 64")
    try:
        return _run(Device(options.place), options.pieces)
    except Error as error:
        print(error)
        return 1


def _run(device: Device, pieces: int) -> int:
    size = 1 << 20
    writer, reader = Stream(device), Stream(device)
    print(f"{device}, {device.properties.name}: {pieces} pieces of {size >> 20} MiB, two streams")
    joined = Buffer(reader, pieces * size)
    start, end = (Event(device, timing=True) for _ in range(2))
    writer.record_event(start)
    for i in range(pieces):
        piece = Buffer(writer, size)
        writer.fill(piece, i + 1)
        reader.wait_event(writer.record_event())  # holds back the stream, not this thread
        piece.record_stream(reader)  # the piece is let go below, and freed when both streams are done with it
        reader.copy(joined[i * size : (i + 1) * size], piece)
    host = HostBuffer(device, pieces * size)
    reader.copy(host, joined)
    reader.record_event(end)
    print(f"submitted; {'done already' if reader.query() else 'the streams are still at work'}")
    reader.synchronize()
    wrong = sum(bytes(memoryview(host)[i * size : (i + 1) * size]) != bytes([i + 1]) * size for i in range(pieces))
    print(f"done in {end - start:.2f} ms by the device's clock; {pieces - wrong} of {pieces} pieces are right")
    return 1 if wrong else 0
