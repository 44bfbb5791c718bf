# SPDX-License-Identifier: Apache-2.0
"""Work that is captured once and launched again and again, with new numbers each time. Needs no compiler.

    python graph.py [PLACE]        cpu_sim:0 if not given
"""

import sys

import anyplace

stream = anyplace.Stream(sys.argv[1] if len(sys.argv) > 1 else "cpu_sim:0")
given = anyplace.HostBuffer(stream.device, 4)
taken = anyplace.HostBuffer(stream.device, 8)
data = anyplace.Buffer(stream, 8)

with stream.capture() as graph:  # nothing runs in here
    stream.fill(data, 7)
    stream.copy(data[2:6], given)
    stream.copy(taken, data)

for number in range(3):
    memoryview(given)[:] = bytes([number]) * 4  # the graph's copies read what is there when it is launched
    graph.launch(stream)
    stream.synchronize()
    assert bytes(memoryview(taken)) == bytes([7, 7, *[number] * 4, 7, 7])
print(f"{stream.device}: a graph of {len(graph)} nodes, launched 3 times")
