# SPDX-License-Identifier: Apache-2.0
"""y = a * x + y, by a kernel of CUDA C++ and by arrays' operators.

    python saxpy.py [PLACE]        cpu_sim:0 if not given; kernels need a compiler for it (docs/kernels.md)
"""

import sys

import anyplace

SOURCE = """
extern "C" __global__ void saxpy(float a, const float* x, float* y, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""

device = anyplace.Device(sys.argv[1] if len(sys.argv) > 1 else "cpu_sim:0")
stream = anyplace.Stream(device)
n = 100_000
x = anyplace.full(n, 3.0, "float32", stream=stream)
y = anyplace.asarray([float(i % 10) for i in range(n)], "float32", stream=stream)
expected = x * 2 + y  # operators run on the array's stream, too

saxpy = anyplace.Module.compile(device, SOURCE).kernel("saxpy", ["f32", "pointer", "pointer", "i64"])
saxpy[(n + 255) // 256, 256](stream, 2.0, x, y, n)  # a stream is given with each launch, and arrays are pointers

assert (y == expected).min().item()  # item() waits
print(f"{device}: y[:4] = {y[:4].tolist()}")
