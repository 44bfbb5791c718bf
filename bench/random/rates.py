# SPDX-License-Identifier: Apache-2.0
"""How fast random numbers are on one core: fills of 65,536 elements, in GB/s, by random_cost and by NumPy."""
import json
import os
import subprocess

import report

COUNT = 1 << 16
ROWS = ["uniform_f32", "uniform_f64", "uniform_f16", "normal_f32", "normal_f64", "exponential_f32", "integers_i32", "bernoulli_bool",
        "permutation_i32"]

NUMPY = """
import json, os, statistics, sys, time
import numpy
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
count, random = 1 << 16, numpy.random.Generator(numpy.random.Philox(42))
f32, f64 = numpy.empty(count, numpy.float32), numpy.empty(count)
calls = {
    "uniform_f32": (4, lambda: random.random(dtype=numpy.float32, out=f32)),
    "uniform_f64": (8, lambda: random.random(out=f64)),
    "normal_f32": (4, lambda: random.standard_normal(dtype=numpy.float32, out=f32)),
    "normal_f64": (8, lambda: random.standard_normal(out=f64)),
    "exponential_f32": (4, lambda: random.standard_exponential(dtype=numpy.float32, out=f32)),
    "integers_i32": (4, lambda: random.integers(1, 7, count, numpy.int32)),
    "permutation_i32": (8, lambda: random.permutation(count)),
}
found = {}
for name, (size, call) in calls.items():
    rates = []
    for _ in range(int(sys.argv[1])):
        begin, times = time.perf_counter(), 0
        while time.perf_counter() - begin < 0.1:
            call()
            times += 1
        rates.append(times * count * size / (time.perf_counter() - begin) / 1e9)
    found[name] = statistics.median(rates)
print(json.dumps({"version": numpy.__version__, "rates": found}))
"""


def numpy_rates(program, repetitions):
    try:
        done = subprocess.run([program, "-c", NUMPY, str(repetitions)], capture_output=True, text=True)
    except OSError:
        return "", {}
    if done.returncode != 0:
        return "", {}
    said = json.loads(done.stdout)
    return said["version"], said["rates"]


def host_rates(build, repetitions, min_time, pattern=""):
    """{(whether it is anyplace's, row): [GB/s of each repetition]}, and what Google Benchmark says of the machine. The others are
    std::mt19937's."""
    said = report.google_benchmark(os.path.join(build, "bin", "random_cost"), f"--benchmark_filter={pattern or '.'}",
                                   repetitions=repetitions, min_time=min_time)
    rates = {}
    for one in said["benchmarks"]:
        if one["run_type"] == "iteration":
            who, row = one["name"].split("/")[:2]
            rates.setdefault((who.startswith("fill_device"), row), []).append(one["bytes_per_second"] / 1e9)
    return rates, said["context"]
