# SPDX-License-Identifier: Apache-2.0
"""Copies and work side by side: pinned memory, two streams, events that order them and measure. Needs no compiler.

    python pipeline.py [PLACE]        cpu_sim:0 if not given
"""

import sys

import anyplace

device = anyplace.Device(sys.argv[1] if len(sys.argv) > 1 else "cpu_sim:0")
copies, compute = anyplace.Stream(device), anyplace.Stream(device)
start, end = (anyplace.Event(device, timing=True) for _ in range(2))

chunk, chunks = 1 << 20, 4
host = anyplace.HostBuffer(device, chunks * chunk)  # pinned: copies from it don't wait
view = memoryview(host)
for i in range(chunks):
    view[i * chunk : (i + 1) * chunk] = bytes([i]) * chunk

copies.record_event(start)
results = []
for i in range(chunks):
    data = anyplace.Buffer(copies, chunk)
    copies.copy(data, view[i * chunk : (i + 1) * chunk])  # submitted: this thread goes on
    compute.wait_event(copies.record_event())  # compute goes on when the copy is done; nobody else waits
    result = anyplace.Buffer(compute, chunk)
    compute.copy(result, data)
    compute.fill(result[: chunk // 2], 255)
    data.record_stream(compute)  # data was made on `copies`, and `compute` uses it
    results.append(result)
compute.record_event(end)
compute.synchronize()

for i, result in enumerate(results):
    back = bytearray(chunk)
    compute.copy(back, result)
    compute.synchronize()
    assert back == b"\xff" * (chunk // 2) + bytes([i]) * (chunk // 2)
print(f"{device}: {chunks} chunks of {chunk >> 20} MiB in {start.elapsed_time(end):.2f} ms")
