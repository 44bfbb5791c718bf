# SPDX-License-Identifier: Apache-2.0
"""What programs do that they had better not: at the interpreter's end, in forks, with plugins and libraries that don't fit."""

import pathlib
import sys
import threading

import pytest

import anyplace


def test_the_interpreter_ends_whatever_is_let_go_first(run, place):
    for order in ("stream, buffer, array, event, graph", "graph, event, array, buffer, stream"):
        program = run(
            "import anyplace\n"
            f"stream = anyplace.Stream('{place}')\n"
            "with stream.capture() as graph:\n"
            "    stream.launch_host_func(print)\n"
            "buffer, array = anyplace.Buffer(stream, 64), anyplace.zeros(8, stream=stream)\n"
            "part, event = buffer[8:16], stream.record_event()\n"
            "stream.fill(part, 1)\n"
            f"del {order}\n"
            "class Last:\n"
            "    def __del__(self, kept=part): kept.nbytes\n"
            "last = Last(); last.self = last\n"
        )
        assert (program.returncode, program.stderr) == (0, ""), order


def test_the_interpreter_ends_with_a_capture_and_a_communicator_open(run, place):
    program = run(
        "import anyplace\n"
        f"stream = anyplace.Stream('{place}')\n"
        "ranks = anyplace.Communicator(stream.device, anyplace.Bootstrap.alone())\n"
        "array = anyplace.zeros(8, stream=stream)\n"
        "ranks.all_reduce(stream, array, array)\n"
        "stream.begin_capture('relaxed')\n"
        "stream.fill(anyplace.Buffer(stream.device, 8), 1)\n"
        "capture = stream.capture()\n"
        "print('end')\n"
    )
    assert (program.returncode, program.stdout, program.stderr) == (0, "end\n", "")


def test_the_interpreter_ends_while_a_host_function_never_does(run, place):
    program = run(
        "import anyplace, threading\n"
        f"stream = anyplace.Stream('{place}')\n"
        "begun = threading.Event()\n"
        "def never():\n"
        "    begun.set()\n"
        "    threading.Event().wait()\n"
        "stream.launch_host_func(never)\n"
        "begun.wait()\n"
        "print('end')\n"
    )
    assert (program.returncode, program.stdout) == (0, "end\n"), program.stderr


def test_a_tensor_outlives_the_interpreter(run, place):
    numpy = pytest.importorskip("numpy")
    del numpy
    if not place.startswith("cpu_sim"):
        pytest.skip("NumPy takes memory of the host")
    program = run(
        "import anyplace, numpy, sys\n"
        f"sys.kept = numpy.from_dlpack(anyplace.zeros(8, device='{place}'))\n"
        "theirs = anyplace.from_dlpack(numpy.arange(3))\n"
        "anyplace.kept = theirs\n"
    )
    assert (program.returncode, program.stderr) == (0, "")


def test_a_host_function_may_fork(run, place):
    program = run(
        "import anyplace, os, warnings\n"
        "warnings.simplefilter('ignore')\n"  # 3.12 and newer warn of forks beside threads
        f"stream = anyplace.Stream('{place}')\n"
        "def forks():\n"
        "    child = os.fork()\n"
        "    if child == 0: os._exit(5)\n"
        "    found.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "found = []\n"
        "stream.launch_host_func(forks)\n"
        "stream.synchronize()\n"
        "print(found)\n"
    )
    assert (program.returncode, program.stdout) == (0, "[5]\n"), program.stderr


def test_a_subinterpreter_is_refused_with_the_reason(run):
    if sys.version_info >= (3, 14):
        create = "import concurrent.interpreters as i; exec = lambda text: i.create().exec(text)"
    elif sys.version_info >= (3, 13):
        create = "import _interpreters as i; exec = lambda text: print(i.exec(i.create(), text).msg)"
    else:
        create = "import _xxsubinterpreters as i; exec = lambda text: i.run_string(i.create(), text)"
    program = run(
        f"{create}\n"
        "try: exec('import anyplace')\n"
        "except Exception as error: print(error)\n"
    )
    assert program.returncode == 0 and "subinterpreter" in program.stdout, program.stdout + program.stderr


def test_a_plugin_that_is_broken_is_told_where_it_is_used(run, tmp_path):
    (tmp_path / "libanyplace_backend_broken.so").write_text("no library")
    program = run(
        "import anyplace\n"
        "print('broken' in anyplace.backends())\n"
        "try: anyplace.Device('broken:0')\n"
        "except anyplace.NoDeviceError as error: print(error)\n"
        "print([p.state for p in anyplace.plugins() if p.name == 'broken'])\n",
        ANYPLACE_BACKEND_PATH=str(tmp_path),
    )
    assert program.stdout.startswith("True\n") and program.stdout.endswith("['refused']\n"), program.stderr
    assert str(tmp_path) in program.stdout


def test_importing_needs_no_backend(run, tmp_path):
    program = run(
        "import anyplace\n"
        "try: anyplace.Device('nowhere:0')\n"
        "except anyplace.NoDeviceError as error: print(error.code, 'doctor' in str(error))\n",
        ANYPLACE_BACKEND_PATH=str(tmp_path),
    )
    assert program.stdout == "no_such_backend True\n", program.stderr


def library():
    """The file of libanyplace that this process has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if "/libanyplace.so" in line)


def test_another_version_of_the_library_is_refused_with_the_file(run, tmp_path):
    own = anyplace.__version__.encode()
    image = pathlib.Path(library()).read_bytes()
    other = tmp_path / "libanyplace.so.0.1"
    # The linker may have made the version the end of a longer text.
    assert own + b"\0" in image
    other.write_bytes(image.replace(own + b"\0", own[:-1] + b"~\0"))
    program = run(
        f"import ctypes; ctypes.CDLL('{other}')\n"
        "try: import anyplace\n"
        "except ImportError as error: print(error)\n"
    )
    assert anyplace.__version__ in program.stdout and str(other) in program.stdout, program.stdout + program.stderr


def test_each_of_ten_thousand_threads_has_its_own_current_stream(device):
    streams = [anyplace.Stream(device) for _ in range(7)]
    former = anyplace.current_stream(device)
    wrong = []

    def work(stream, barrier):
        with stream:
            barrier.wait()
            if anyplace.current_stream(device) != stream:
                wrong.append(stream)
        if anyplace.current_stream(device) == stream:
            wrong.append(stream)

    together = 100
    for _ in range(100):
        barrier = threading.Barrier(together)
        threads = [threading.Thread(target=work, args=(streams[i % 7], barrier)) for i in range(together)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong and anyplace.current_stream(device) == former


def test_ctrl_c_ends_every_kind_of_wait(run, place):
    """And nothing is lost: the work that was waited for is done afterwards."""
    waits = ["stream.synchronize()", "event.synchronize()", "stream.device.synchronize()", "array.tolist()"]
    if place.startswith("cpu_sim"):
        waits += ["array.__dlpack__()", "array.__array_interface__"]
    program = run(
        "import anyplace, faulthandler, os, signal, threading\n"
        "faulthandler.dump_traceback_later(60, exit=True)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"stream = anyplace.Stream('{place}')\n"
        "array = anyplace.zeros(3, 'int32', stream=stream)\n"
        "ones = anyplace.HostBuffer(stream.device, 12)\n"
        "memoryview(ones)[:] = b'\\1\\0\\0\\0' * 3\n"
        "stream.synchronize()\n"
        "gate = threading.Event()\n"
        "stream.launch_host_func(gate.wait)\n"
        "stream.copy(array, ones)\n"
        "event = stream.record_event()\n"
        f"for wait in {waits!r}:\n"
        "    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    try: eval(wait)\n"
        "    except KeyboardInterrupt: continue\n"
        "    raise SystemExit(wait + ' was not interrupted')\n"
        "gate.set()\n"
        "print(array.tolist())\n"
    )
    assert program.stdout == "[1, 1, 1]\n", program.stderr
