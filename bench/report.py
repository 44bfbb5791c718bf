# SPDX-License-Identifier: Apache-2.0
"""What the benches' programs in Python share: building, running Google Benchmark, saying where a figure is from, Markdown."""
import json
import os
import platform
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def fail(text):
    """Says who failed, and ends with status 2: nothing was measured."""
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)
    sys.exit(2)


def run(command, environment=None, statuses=(0,)):
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except OSError as error:
        fail(f"{command[0]}: {error.strerror}")
    if done.returncode not in statuses:
        fail(f"{' '.join(command)} ends with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done


def build(folder, *targets):
    """A release build with the benches; what a machine lacks is said."""
    # Ninja, since there may be no make; a folder that is configured keeps what it has.
    generator = [] if os.path.exists(os.path.join(folder, "CMakeCache.txt")) else ["-GNinja"]
    said = run(["cmake", "-S", ROOT, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DANYPLACE_BENCH=ON"])
    for line in said.stdout.splitlines():
        if line.startswith("-- bench/") and "left out" in line:
            print(line[3:], file=sys.stderr)
    run(["cmake", "--build", folder, "--parallel", str(os.cpu_count()), "--target", *targets])


def google_benchmark(program, *arguments, repetitions, min_time, environment=None):
    """What the program reports, its repetitions interleaved at random. A case that failed ends this process."""
    if not os.path.exists(program):
        fail(f"there is no {program}: it needs Google Benchmark (Debian: apt-get install libbenchmark-dev)")
    done = run([program, *arguments, f"--benchmark_repetitions={repetitions}",
                "--benchmark_enable_random_interleaving=true", f"--benchmark_min_time={min_time}",
                "--benchmark_format=json"], environment)
    sys.stderr.write("".join(line for line in done.stderr.splitlines(True) if "left out" in line))
    report = json.loads(done.stdout)
    for one in report["benchmarks"]:
        if one.get("error_occurred"):
            fail(f"{one['name']}: {one['error_message']}")
        if one["run_type"] == "iteration" and one["time_unit"] != "ns":
            fail(f"a time in {one['time_unit']}")
    return report


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit():
    name = git("rev-parse", "--short=12", "HEAD")
    return f"{name}, with changes" if name and git("status", "--porcelain") else name or "unknown"


LOAD_AT_START = os.getloadavg()[0]  # what others do: later it is what is measured, too


def machine(context, with_load=True):
    """Of what Google Benchmark says of the machine."""
    load = f", load before {LOAD_AT_START:.1f}" if with_load else ""
    return f"{context['num_cpus']} CPUs at {context['mhz_per_cpu']} MHz, {platform.machine()}{load}; commit {commit()}"


def figure(value):
    """Three digits, at most one of them behind the point."""
    return "-" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def markdown(head, rows):
    """A table; the first column is text, the others are figures."""
    return "\n".join(["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)] +
                     ["| " + " | ".join(row) + " |" for row in rows])


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def write_json(folder, name, value):
    write(folder, name, json.dumps(value, indent=1) + "\n")
