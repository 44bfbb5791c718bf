# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of bench/speed. Every function gives {metric: {who: [a value for each repetition]}}."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import rates
import report

# The cases of the program `speed` that make each group.
CASES = {"enqueue": "enqueue", "submit_drain": "submit_drain", "sync": "sync", "sync_after_idle": "sync_after_(idle|sleep)",
         "hop": "hop_(live|ahead)", "graph": "graph_(empty|1us|3)", "graph_launch": "chain_(launch|submit)|dag_launch(_1us)?", "events": "(record|record_blocked|query|event_objects)",
         "arguments": "(enqueue|submit_drain|sync|threads)_3|enqueue_8", "grid": "grid(_1us)?",
         "host_functions": "host_functions?", "small": "(fill|copy)_(enqueue|drain)|buffers", "captures": "capture_call|replay_(chain|branches)", "blur": "blur",
         "limits": "limit_[a-z]+"}
MEMORY = {"queued": 100_000, "queued_3": 100_000, "queued_8": 100_000, "idle": 10_000, "used": 10_000}
GRID_OF_MICROSECONDS = 4096  # blocks
# The same work submitted call by call, and as a graph: what each way is called among the metrics.
WAYS = {"submitted": "submitted", "by the library": "library", "by the device": "device"}
# What bench_ipc_ping_pong says of each game, and whose figure of which metric it is.
GAMES = {"shared events, spinning": ("ping_pong_spinning", "anyplace"), "two words, spinning": ("ping_pong_spinning", "words"),
         "shared events, sleeping": ("ping_pong_sleeping", "anyplace"), "a pair of futexes": ("ping_pong_sleeping", "futexes"),
         "a pair of pipes": ("ping_pong_sleeping", "pipes")}
WHO = ["anyplace", "naive", "tbb", "asio", "pocl"]
RECORDED = os.path.join(report.ROOT, "bench", "instructions", "expected.json")


class Measure:
    def __init__(self, build, place, repetitions, quick):
        self.build, self.place, self.repetitions, self.quick = build, place, repetitions, quick
        self.context = {}
        self.left_out = []
        self.instructions_by_call = {}

    def program(self, name):
        return os.path.join(self.build, "bin", name)

    def environment(self, **more):
        # PoCL keeps what it compiled; not in the user's home.
        return {**os.environ, "POCL_CACHE_DIR": os.path.join(self.build, "bench", "pocl"), **more}

    def cases(self, pattern, min_time, repetitions=None, **environment):
        """(metric, who, variant, the report of one repetition) of each case whose metric is matched."""
        os.makedirs(os.path.join(self.build, "bench", "pocl"), exist_ok=True)
        found = report.google_benchmark(
            self.program("speed"), f"--place={self.place}", f"--quick={int(self.quick)}",
            f"--benchmark_filter=^({pattern})/", repetitions=repetitions or self.repetitions,
            min_time=0.005 if self.quick else min_time, environment=self.environment(**environment))
        self.context = self.context or found["context"]
        said = found["context"].get("left_out", "").split("\n")
        self.left_out += [one for one in said if one and re.match(rf"({pattern}|\*)/", one) and one not in self.left_out]
        for one in found["benchmarks"]:
            if one["run_type"] == "iteration":
                metric, who, variant = (one["run_name"].split("/") + [""])[:3]
                yield metric, who, variant, one

    def times(self, groups):
        figures = {}

        def add(metric, who, value):
            figures.setdefault(metric, {}).setdefault(who, []).append(value)

        for metric, who, variant, one in self.cases("|".join(CASES[group] for group in groups), 0.1):
            if metric in ("grid", "threads_3"):
                add(f"{metric}_{variant}", who, one["median"] / one["operations"])
            elif metric == "grid_1us":
                add(metric, who, GRID_OF_MICROSECONDS * 1e3 / self.context["num_cpus"] / one["median"])
            elif metric.startswith("replay_"):  # "who" is the way here
                add(f"{metric}_{WAYS[who]}", "anyplace", one["median"] / one["operations"])
            elif metric == "sync":
                add("sync_p50", who, one["p50"])
                add("sync_p99", who, one["p99"])
            elif metric.startswith("sync_after"):
                add(metric, who, one["p50"])
            elif metric.startswith(("graph_", "dag_launch")):
                add(metric, who, one["operations"] / one["median"] * 1e3)
            else:
                add(metric, who, one["median"] / one["operations"])
        if "chain_launch" in figures:
            one_by_one = {who: statistics.median(values) for who, values in figures["chain_submit"].items()}
            figures["chain_ratio"] = {who: [value / one_by_one[who] for value in values]
                                      for who, values in figures["chain_launch"].items()}
        for shape in ("replay_chain", "replay_branches"):
            if f"{shape}_submitted" not in figures:
                continue
            one_by_one = statistics.median(figures[f"{shape}_submitted"]["anyplace"])
            for way in ("library", "device"):
                figures[f"{shape}_{way}_ratio"] = {"anyplace": [value / one_by_one
                                                                for value in figures[f"{shape}_{way}"]["anyplace"]]}
        if "threads_3_1" in figures:
            figures["threads_3"] = {who: [statistics.median(values) / statistics.median(figures["threads_3_1"][who])]
                                    for who, values in figures["threads_3_8"].items()}
        if "blur" in figures:
            plain = statistics.median(figures["blur"].pop("loop"))
            figures["blur"] = {"anyplace": [plain / value for value in figures["blur"]["anyplace"]]}
        return figures

    def matrix(self):
        """Of kernels, most of them with barriers, over loops; one thread each."""
        times = {}
        for metric, who, _, one in self.cases("matrix|block_sums|saxpy", 0.2, ANYPLACE_CPU_SIM_WORKERS="1"):
            times.setdefault(metric, {}).setdefault(who, []).append(one["median"])
        return {metric: {"anyplace": [statistics.median(of["loop"]) / value for value in of["anyplace"]]}
                for metric, of in times.items()}

    def scale(self):
        """{curve: {who: {streams or threads: [ns of an operation]}}}"""
        curves = {}
        for curve, who, count, one in self.cases("streams|threads|threads_one_stream", 0.05, min(self.repetitions, 5)):
            points = curves.setdefault(curve, {}).setdefault(who, {})
            points.setdefault(int(count), []).append(one["median"] / one["operations"])
        return curves

    def copy(self):
        """Bandwidths over memcpy's median in the same process."""
        figures = {}
        for metric, workers in [("copy", None), ("copy_1", "1"), ("copy_2", "2")]:
            environment = {"ANYPLACE_CPU_SIM_WORKERS": workers} if workers else {}
            times = {}
            for _, who, _, one in self.cases("copy", 0.2, **environment):
                times.setdefault(who, []).append(one["median"])
            reference = statistics.median(times["memcpy"])
            figures[metric] = {who: [reference / value for value in values] for who, values in times.items()
                               if who == "anyplace" or workers is None}
        return figures

    def sums(self):
        """Bandwidth over that of STREAM's Add, by its median in the same process."""
        times = {}
        for _, who, _, one in self.cases("reduce_add", 0.5, ANYPLACE_CPU_SIM_DEVICES="8"):
            times.setdefault(who, []).append(one["bytes"] / one["median"])
        reference = statistics.median(times["stream_add"])
        return {"reduce_add": {"anyplace": [value / reference for value in times["anyplace"]]}}

    def random(self):
        """On one core, and of cpu_sim whatever the place; beside the standard library and, where this Python has it, NumPy."""
        repetitions = 1 if self.quick else self.repetitions
        # Of a permutation the numbers count: NumPy's have eight bytes, ours four.
        rows = {"uniform_f32": ("uniform_f32", 1, 1), "normal_f32": ("normal_f32", 1, 1),
                "permutation_i32": ("permutation", 1e3 / 4, 1e3 / 8)}
        found, _ = rates.host_rates(self.build, repetitions, 0.005 if self.quick else 0.1, "/(" + "|".join(rows) + ")/")
        version, of_numpy = ("", {}) if self.quick else rates.numpy_rates(sys.executable, repetitions)
        if not version:
            self.left_out.append("random/numpy: " + ("a quick run doesn't" if self.quick else "this Python has no NumPy"))
        figures = {}
        for row, (metric, ours, numpys) in rows.items():
            figures[metric] = {"anyplace": [value * ours for value in found[True, row]]}
            if (False, row) in found:
                figures[metric]["mt19937"] = found[False, row]
            if row in of_numpy:
                figures[metric]["numpy"] = [of_numpy[row] * numpys]
        return figures

    def ranks(self):
        """Over MPI_Allreduce in the same processes; on cpu_sim, whatever the place."""
        mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
        if mpirun is None:
            self.left_out.append("ranks/anyplace: there is no mpirun (Debian: apt-get install openmpi-bin libopenmpi-dev)")
            return {}
        figures = {}

        def measure(size, megabytes, keys):
            # The flags are Open MPI's: by root, and of more ranks than cores.
            said = report.run([mpirun, "--allow-run-as-root", "--oversubscribe", "-n", str(size), self.program("allreduce_demo"),
                               "--place", "cpu_sim", "--megabytes", str(megabytes)]).stdout
            ratios = [float(ratio) for ratio in re.findall(r"time ([0-9.]+) of MPI's", said)]
            for key, ratio in zip(keys, ratios):
                if key:
                    figures.setdefault(key, {}).setdefault("anyplace", []).append(ratio)
            return len(ratios) == 2

        for _ in range(1 if self.quick else self.repetitions):
            there = measure(2, 1, ["all_reduce_small_2", None])
            if not there:
                self.left_out.append("ranks/anyplace: allreduce_demo was built without MPI (Debian: apt-get install libopenmpi-dev)")
                return {}
            if not self.quick:
                measure(4, 256, ["all_reduce_small", "all_reduce_large"])
        return figures

    def memory(self):
        """Of malloc's figure and what became resident, the greater."""
        figures = {}
        for what, count in MEMORY.items():
            for who in WHO:
                values = []
                for _ in range(1 if self.quick else 3):
                    objects = str(count // 100 if self.quick else count)
                    done = report.run([self.program("speed_memory"), who, what, objects, f"--place={self.place}"],
                                      self.environment(), statuses=(0, 3))
                    if done.returncode == 0:
                        said = json.loads(done.stdout)
                        values.append(max(said["heap"], said["resident"]))
                if values:
                    figures.setdefault(f"memory_{what}", {})[who] = values
        return figures

    def ping_pong(self):
        """Round trips between two processes, in microseconds; on cpu_sim:0, whatever the place."""
        figures = {}
        for _ in range(1 if self.quick else min(self.repetitions, 5)):
            said = report.run([self.program("bench_ipc_ping_pong"), "20" if self.quick else "2000"]).stdout
            for game, microseconds in re.findall(r"^(\S.*?) +([0-9.]+) us a round trip$", said, re.MULTILINE):
                metric, who = GAMES[game]
                figures.setdefault(metric, {}).setdefault(who, []).append(float(microseconds))
        found = sum(len(by_who) for by_who in figures.values())
        if found != len(GAMES):
            report.fail(f"bench_ipc_ping_pong says {found} of its {len(GAMES)} figures")
        return figures

    def first_use(self):
        def process(*command):
            start = time.perf_counter()
            done = report.run(list(command))
            return (time.perf_counter() - start) * 1e3, done.stdout

        inside, whole = [], []
        for _ in range(5 if self.quick else 50):
            took, said = process(self.program("speed_first_use"), self.place)
            nothing, _ = process(self.program("speed_nothing"))
            inside.append(json.loads(said)["stream"] / 1e6)
            whole.append(took - nothing)
        return {"first_use": {"anyplace": inside}, "first_process": {"anyplace": whole}}

    def instructions(self):
        """Of the core alone: counted where there is valgrind, as recorded elsewhere."""
        counted, why = (None, "a quick run doesn't") if self.quick else self.count_instructions()
        if counted is None:
            self.left_out.append(f"instructions: these are the recorded ones, not counted: {why}")
            with open(RECORDED) as file:
                counted = {"figures": json.load(file), "limits": {"core": {}}, "labels": {}}
        core, limits = counted["figures"]["core"], counted["limits"]["core"]
        self.instructions_by_call = {counted["labels"].get(call, call): value for call, value in core.items()}
        short = [value for call, value in core.items() if limits.get(call) is not None]
        figures = {"instructions": {"anyplace": [max(core.values())]}}
        if short:
            figures["instructions_short"] = {"anyplace": [max(short)]}
        return figures

    def count_instructions(self):
        """What `count` leaves, or None and why not."""
        if not shutil.which("valgrind"):
            return None, "there is no valgrind (Debian: apt-get install valgrind)"
        with tempfile.TemporaryDirectory() as folder:
            counted = os.path.join(folder, "counted.json")
            done = subprocess.run([os.path.join(report.ROOT, "bench", "instructions", "count"), "--build", self.build,
                                   "--json", counted], capture_output=True, text=True)
            if done.returncode not in (0, 1):  # 1: over a limit, which the table says, too
                return None, done.stderr.strip().split("\n")[-1]
            with open(counted) as file:
                return json.load(file), ""
