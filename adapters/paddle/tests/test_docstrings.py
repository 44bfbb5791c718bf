# SPDX-License-Identifier: Apache-2.0
"""The examples in Paddle's own documentation that need a custom device, taken from the installed wheel and run on ours: the pages of
paddle.device.Stream, Event and what is about them. They are written for a device `custom_cpu`, so that is what ours is called here."""
import ast
import json

import pytest

from conftest import run_python

MARK = "REQUIRES(env:CUSTOM_DEVICE)"
COLLECT = """
import inspect
found = {}
def look(owner, prefix, inner):
    for name in sorted(dir(owner)):
        try: thing = getattr(owner, name)
        except Exception: continue
        text = getattr(thing, "__doc__", None)
        if isinstance(text, str) and "MARK" in text: found.setdefault(text, prefix + name)
        if inner and inspect.isclass(thing): look(thing, prefix + name + ".", False)
look(paddle.device, "paddle.device.", True)
look(paddle.base.core, "paddle.base.core.", True)
look(paddle, "paddle.", True)
print({name: text for text, name in found.items()})
""".replace("MARK", MARK)

# Examples that this wheel itself can't run, on any device of anybody's, with the reason.
WRONG = {
    "paddle.device.Event.elapsed_time": "CustomDeviceEvent has no elapsed_time in this wheel",
    "paddle.device.get_device_name": "the wheel gives properties of two vendors' devices only",
    "paddle.device.get_device_capability": "the wheel gives properties of two vendors' devices only",
    "paddle.device.StreamContext": "it calls paddle.device.default_stream, which the wheel hasn't",
    "paddle.device.stream": "it sets the device gpu",
    "paddle.base.core.CustomPlace": "it names a device FakeCPU",
    "paddle.base.core.CustomDeviceEvent": "it names a module paddle.device.custom, which the wheel hasn't",
    "paddle.base.core.CustomDeviceStream": "it names a module paddle.device.custom, which the wheel hasn't",
}


def reason_of(name):
    """Why the example can't run, or None; a class's reason is its members', too."""
    return WRONG.get(name) or WRONG.get(name.rpartition(".")[0])


def examples():
    # Collected without a plug-in: what is wrong with ours shows in the cases.
    done = run_python(COLLECT, ANYPLACE_PADDLE_TYPE="custom_cpu")
    assert done.status == 0, done.all
    return ast.literal_eval(done.output)


EXAMPLES = examples()

RUN = """
import doctest, json, sys, traceback
for name, text in EXAMPLES.items():
    scope, tests, error = {}, [], ""
    try:
        tests = doctest.DocTestParser().get_examples(text.replace("doctest: +", ""))  # options of Paddle's own runner
        for test in tests:
            exec(compile(test.source, name, "exec"), scope)
    except BaseException:
        error = traceback.format_exc()
    print("RESULT", json.dumps([name, len(tests), error]), flush=True)
"""


@pytest.fixture(scope="module")
def results():
    """Of each example, how many statements there were to run, and how it failed. They run one after the other in one process."""
    done = run_python(f"EXAMPLES = {EXAMPLES!r}\n" + RUN, ANYPLACE_PADDLE_TYPE="custom_cpu")
    lines = [json.loads(line.split(maxsplit=1)[1]) for line in done.output.splitlines() if line.startswith("RESULT ")]
    assert done.status == 0 and "anyplace: paddle:" not in done.errors, done.all
    return {name: (count, error) for name, count, error in lines}


def test_there_are_examples_of_streams_and_events():
    assert {"paddle.device.Stream", "paddle.device.Event", "paddle.device.Stream.wait_event", "paddle.device.synchronize"} <= set(EXAMPLES)
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example(results, name):
    count, error = results[name]
    assert count > 0
    if reason_of(name):
        assert error, f"it works now, take it out of WRONG: {reason_of(name)}"
        pytest.skip(reason_of(name))
    assert not error, error
