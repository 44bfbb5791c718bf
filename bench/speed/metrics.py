# SPDX-License-Identifier: Apache-2.0
"""The metrics: what each is called, what is aimed at, and the table and the plots that say how it went."""
import statistics
from dataclasses import dataclass
from typing import Optional

import plot
import report

# As they are in the figures, and as people call them. What copies are held against is memcpy, and what round trips between
# processes are is what those have without anyplace.
PEERS = {"naive": "thread + mutex", "tbb": "oneTBB", "asio": "Asio strands", "pocl": "PoCL", "memcpy": "memcpy",
         "mt19937": "std::mt19937", "numpy": "NumPy's Philox", "mpi": "MPI_Allreduce",
         "words": "two words, spinning", "futexes": "a pair of futexes", "pipes": "a pair of pipes"}
COLUMNS = ["naive", "tbb", "asio", "pocl"]


@dataclass
class Metric:
    key: str
    group: str
    label: str
    unit: str
    target: Optional[float] = None
    stretch: Optional[float] = None
    high: bool = False  # more is better

    def met(self, value):
        return value >= self.target if self.high else value <= self.target

    def best(self, values):
        return max(values) if self.high else min(values)


METRICS = [
    Metric("enqueue", "enqueue", "enqueue an empty kernel on a blocked stream", "ns", 20, 5),
    Metric("submit_drain", "submit_drain", "submit + drain 10^6 of them, per operation", "ns", 60, 10),
    Metric("sync_p50", "sync", "submit one, synchronise: median", "ns", 120, 80),
    Metric("sync_p99", "sync", "submit one, synchronise: 99th percentile", "ns", 200, 120),
    Metric("sync_after_idle", "sync_after_idle", "the same after 1 ms of idleness, median", "ns", 500, 400),
    Metric("sync_after_sleep", "sync_after_idle", "the same after the host slept 1 ms, median", "ns"),
    Metric("hop_live", "hop", "event hop between two streams, live", "ns", 200, 80),
    Metric("hop_ahead", "hop", "event hop between two streams, queued ahead", "ns", 60, 45),
    Metric("graph_empty", "graph", "random DAG, 16 streams, 25 % cross waits, empty bodies", "million/s", 20, 30, True),
    Metric("graph_1us", "graph", "the same, bodies of 1 us", "million/s", 1.55, 1.7, True),
    Metric("chain_submit", "graph_launch", "100 empty kernels one by one, drain, per kernel", "ns"),
    Metric("chain_launch", "graph_launch", "a graph of 100 empty kernels in a chain: launch, drain, per kernel", "ns"),
    Metric("chain_ratio", "graph_launch", "the second over the first", "x", 1 / 3, 0.25),
    Metric("dag_launch", "graph_launch", "a graph of 1,600 of the random DAG's nodes: launch, drain, empty bodies", "million/s", 36,
           60, True),
    Metric("dag_launch_1us", "graph_launch", "the same, bodies of 1 us", "million/s", 1.55, 1.7, True),
    Metric("record", "events", "record an event", "ns", 30, 10),
    Metric("record_blocked", "events", "record an event on a blocked stream", "ns"),
    Metric("query", "events", "query a completed event", "ns", 4, 3),
    Metric("memory_queued", "memory", "memory of a queued operation", "B", 32, 16),
    Metric("memory_idle", "memory", "memory of an idle stream", "B", 1024, 512),
    Metric("memory_used", "memory", "memory of an idle stream that was used", "B"),
    Metric("first_use", "first_use", "first use of the place in a fresh process", "ms", 2, 1),
    Metric("first_process", "first_use", "the whole process, less that of one that does nothing", "ms"),
    Metric("enqueue_3", "arguments", "enqueue a kernel with 3 arguments on a blocked stream", "ns", 20, 12),
    Metric("enqueue_8", "arguments", "the same from an image, 8 arguments", "ns", 30, 20),
    Metric("submit_drain_3", "arguments", "submit + drain 10^6 with 3 arguments, per operation", "ns", 60, 30),
    Metric("sync_3", "arguments", "submit one with 3 arguments, synchronise", "ns", 140, 100),
    Metric("threads_3", "arguments", "3 arguments, 8 host threads with a stream each, over one thread", "x", 1),
    Metric("memory_queued_3", "memory", "memory of a queued operation with 3 arguments", "B", 64, 48),
    Metric("memory_queued_8", "memory", "memory of a queued operation with 8 arguments", "B", 128, 96),
    Metric("graph_3", "graph", "random DAG, each operation with 3 arguments", "million/s", 12, 20, True),
    Metric("grid_16", "grid", "one launch of 16 empty blocks, synchronise, per block", "ns", 30, 15),
    Metric("grid_256", "grid", "one launch of 256 empty blocks, synchronise, per block", "ns", 8, 4),
    Metric("grid_4096", "grid", "one launch of 4,096 empty blocks, synchronise, per block", "ns", 3, 2),
    Metric("grid_1us", "grid", "one launch of 4,096 blocks of 1 us, of the ideal on all cores", "x", 0.95, 0.98, True),
    Metric("matrix", "matrix", "tiled matrix product with barriers from .cu source, over a tiled loop; one thread", "x", 0.8, 1,
           True),
    Metric("block_sums", "matrix", "sums of 2^20 floats, 256 in each block, with barriers, over the same in a plain loop; one thread", "x", 0.6, 1,
           True),
    Metric("saxpy", "matrix", "SAXPY of 2^20 floats, over the same in a plain loop; one thread", "x", 0.95, 1, True),
    Metric("blur", "blur", "image_pipeline's blur, over the same in a plain loop on all cores", "x", 0.95, 1, True),
    Metric("host_functions", "host_functions", "host functions queued ahead, drain, each", "ns", 80, 40),
    Metric("host_function", "host_functions", "one host function, synchronise: median", "ns", 6000, 2000),
    Metric("fill_enqueue", "small", "enqueue a fill of 64 bytes", "ns", 30, 20),
    Metric("fill_drain", "small", "drain fills of 64 bytes, each", "ns", 25, 15),
    Metric("copy_enqueue", "small", "enqueue a copy of 64 bytes", "ns", 30, 20),
    Metric("copy_drain", "small", "drain copies of 64 bytes, each", "ns", 25, 15),
    Metric("buffers", "small", "make a buffer, copy 64 bytes to it, free it; 1,000 at a time", "ns", 120, 80),
    Metric("event_objects", "events", "make an event, record it, wait for it, destroy it", "ns", 60, 40),
    Metric("copy", "copy", "async copy of 64 MiB to the device, over memcpy's bandwidth", "x", 0.95, None, True),
    Metric("copy_1", "copy", "the same with one worker", "x", None, None, True),
    Metric("copy_2", "copy", "the same with two workers", "x", None, 1.2, True),
    Metric("reduce_add", "sums", "add 8 x 64 MiB of 8 devices on one, over the bandwidth of STREAM Add", "x", 0.8, None, True),
    Metric("uniform_f32", "random", "65,536 uniform f32 on one core", "GB/s", 1, None, True),
    Metric("normal_f32", "random", "65,536 normal f32 on one core", "GB/s", None, None, True),
    Metric("permutation", "random", "a permutation of 65,536 numbers on one core, of numbers", "million/s", None, None, True),
    Metric("all_reduce_small", "ranks", "all_reduce of 8 bytes by 4 processes, over MPI_Allreduce's time", "x", 1.3),
    Metric("all_reduce_small_2", "ranks", "the same by 2 processes", "x", 1.3),
    Metric("all_reduce_large", "ranks", "all_reduce of 256 MiB by 4 processes, over MPI_Allreduce's time", "x", 1),
    Metric("instructions", "instructions", "instructions of the core, the most of any call", "", 40, 20),
    Metric("instructions_short", "instructions", "the same, of record, wait, query, launch and synchronise", ""),
    Metric("capture_call", "captures", "capture a kernel with 3 arguments", "ns", 100),
    Metric("replay_chain_submitted", "captures", "1,000 kernels with 3 arguments in a chain: submit, drain, per kernel", "ns"),
    Metric("replay_chain_library", "captures", "the same as a graph that the library submits node by node", "ns"),
    Metric("replay_chain_device", "captures", "the same as a graph that the device launches", "ns"),
    Metric("replay_chain_library_ratio", "captures", "the chain by the library, over submitting it", "x", 1.05),
    Metric("replay_chain_device_ratio", "captures", "the chain by the device, over submitting it", "x"),
    Metric("replay_branches_submitted", "captures",
           "4 branches of 50 kernels, an exchange after each: submit, drain, per kernel", "ns"),
    Metric("replay_branches_library", "captures", "the same as a graph that the library submits node by node", "ns"),
    Metric("replay_branches_device", "captures", "the same as a graph that the device launches", "ns"),
    Metric("replay_branches_library_ratio", "captures", "the branches by the library, over submitting them", "x", 1.05),
    Metric("replay_branches_device_ratio", "captures", "the branches by the device, over submitting them", "x"),
    Metric("ping_pong_spinning", "ping_pong", "round trip between two processes over shared events, both spin", "us", 5),
    Metric("ping_pong_sleeping", "ping_pong", "the same, both sleep", "us", 25),
    Metric("flat_streams", "scale", "an operation with 10,000 streams, over one with 16", "x", 2),
    Metric("flat_threads", "scale", "an operation with 64 host threads, over one with 1", "x"),
    Metric("flat_one_stream", "scale", "the same, all on one stream", "x"),
]

# What the machine allows: nobody's figures, and what they are held against.
LIMITS = {
    "limit_locked": "a locked instruction on a word that no other core has",
    "limit_line": "a line of memory, from a core that writes it to one that looks at it",
    "limit_clock": "reading the system's clock",
    "limit_call": "a system call that does nothing",
    "limit_wake": "waking a thread that sleeps, until it runs",
}

# What the points of a curve are, and its plot.
CURVES = {
    "streams": ("submit + drain with so many streams, per operation", "streams"),
    "threads": ("submit + drain by so many host threads, a stream each, per operation", "host threads"),
    "threads_one_stream": ("submit + drain by so many host threads on one stream, per operation", "host threads"),
}


def medians(by_who):
    return {who: statistics.median(values) for who, values in by_who.items() if values}


def curve_medians(curve):
    return {who: {x: statistics.median(values) for x, values in points.items()} for who, points in curve.items()}


def add_flatness(figures, curves):
    """How much more an operation costs at the far end of each curve."""
    for key, curve, few, many in [("flat_streams", "streams", 16, 10000), ("flat_threads", "threads", 1, 64),
                                  ("flat_one_stream", "threads_one_stream", 1, 64)]:
        for who, points in curve_medians(curves.get(curve, {})).items():
            if few in points and many in points:
                figures.setdefault(key, {})[who] = [points[many] / points[few]]


def _number(value, unit):
    if unit in ("x", "GB/s") or (unit in ("ms", "us", "million/s") and value < 100):
        return f"{value:.2f}"
    if unit == "":
        return f"{value:.0f}"
    return report.figure(value)


def _ratio(value):
    return f"{value:.0f}" if value >= 99.5 else f"{value:.2g}"


def _cell(ours, theirs, unit):
    if theirs is None:
        return "-"
    return f"{_number(theirs, unit)} ({_ratio(ours / theirs)})" if theirs > 0 else _number(theirs, unit)


def table(figures):
    """Markdown, one row for each metric measured; and the rows as they go into the JSON."""
    shown, rows = [], []
    for metric in METRICS:
        found = medians(figures.get(metric.key, {}))
        if "anyplace" not in found:
            continue
        ours = found["anyplace"]
        peers = {who: value for who, value in found.items() if who != "anyplace" and value > 0}
        # The figures of copies are over memcpy's already, and how flat a curve is says nothing beside another's.
        comparable = metric.group != "scale"
        best = metric.best(peers.values()) if peers and comparable else None
        met = None if metric.target is None else metric.met(ours)
        sign = ">=" if metric.high else "<="
        label = f"{metric.label}, {metric.unit}" if metric.unit not in ("", "x") else metric.label
        shown.append([label, "-" if metric.target is None else f"{sign} {metric.target:g}",
                      "-" if metric.stretch is None else f"{metric.stretch:g}", _number(ours, metric.unit),
                      {None: "-", True: "yes", False: "NO"}[met]] +
                     [_cell(ours, found.get(who), metric.unit) if comparable else
                      _number(found[who], metric.unit) if who in found else "-" for who in COLUMNS] +
                     ["-" if best is None else _ratio(ours / best)])
        rows.append({"metric": metric.key, "label": metric.label, "unit": metric.unit, "target": metric.target,
                     "stretch": metric.stretch, "measured": ours, "met": met, "peers": peers,
                     "over_best_peer": None if best is None else ours / best})
    head = ["metric", "target", "stretch", "measured", "met"] + [PEERS[who] for who in COLUMNS] + ["over best peer"]
    return report.markdown(head, shown), rows


def curve_tables(curves):
    parts = []
    for name, (title, x_label) in CURVES.items():
        found = curve_medians(curves.get(name, {}))
        if "anyplace" not in found:
            continue
        xs = sorted({x for points in found.values() for x in points})
        rows = [[str(x)] + [report.figure(found[who][x]) if x in found.get(who, {}) else "-"
                            for who in ["anyplace"] + COLUMNS] for x in xs]
        head = [x_label, "anyplace"] + [PEERS[who] for who in COLUMNS]
        parts.append(f"{title[0].upper()}{title[1:]}, ns:\n\n{report.markdown(head, rows)}")
    return parts


def instruction_table(by_call):
    rows = [[call, str(value)] for call, value in by_call.items()]
    return f"Instructions of the core:\n\n{report.markdown(['call', 'instructions'], rows)}"


def ping_pong_table(figures):
    """Empty if they weren't measured."""
    ours = {"ping_pong_spinning": "shared events, spinning", "ping_pong_sleeping": "shared events, sleeping"}
    rows = [[ours[key] if who == "anyplace" else PEERS[who], f"{statistics.median(values):.2f}"]
            for key in ours for who, values in figures.get(key, {}).items()]
    return f"A round trip between two processes, us:\n\n{report.markdown(['over', 'us'], rows)}" if rows else ""


def random_table(figures):
    """Empty if they weren't measured."""
    rows = []
    for metric in METRICS:
        if metric.group == "random" and metric.key in figures:
            found = medians(figures[metric.key])
            rows.append([f"{metric.label}, {metric.unit}"] + [_number(found[who], metric.unit) if who in found else "-"
                                                              for who in ("anyplace", "mt19937", "numpy")])
    head = ["random numbers", "anyplace", PEERS["mt19937"], PEERS["numpy"]]
    return f"Random numbers on one core:\n\n{report.markdown(head, rows)}" if rows else ""


def limits_table(figures):
    """Empty if they weren't measured."""
    rows = [[text, report.figure(statistics.median(figures[key]["machine"]))] for key, text in LIMITS.items() if key in figures]
    return f"What the machine allows, ns:\n\n{report.markdown(['step', 'ns'], rows)}" if rows else ""


def plots(figures, curves):
    """{file name: SVG}"""
    made = {}
    for metric in METRICS:
        found = medians(figures.get(metric.key, {}))
        if "anyplace" not in found or metric.group == "scale":
            continue
        values = [("anyplace", found["anyplace"])] + [(PEERS[who], found[who]) for who in PEERS if who in found]
        marks = [(name, value) for name, value in (("target", metric.target), ("stretch", metric.stretch)) if value]
        unit = {"x": "over memcpy's", "": "instructions"}.get(metric.unit, metric.unit)
        made[f"{metric.key}.svg"] = plot.bars(metric.label, unit, values, marks)
    for name, (title, x_label) in CURVES.items():
        found = curve_medians(curves.get(name, {}))
        if "anyplace" in found:
            series = {who if who == "anyplace" else PEERS[who]: found[who] for who in ["anyplace"] + COLUMNS if who in found}
            made[f"{name}.svg"] = plot.lines(title, "ns", x_label, series)
    return made
