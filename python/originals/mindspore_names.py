# SPDX-License-Identifier: Apache-2.0
"""A plugin for pytest: MindSpore's own tests find anyplace.compat.mindspore_hal as hal and runtime."""

import sys

from stand_ins import Refusals, module, skip_for, skipping

from anyplace.compat import mindspore_hal


def pytest_configure(config):
    config.pluginmanager.register(Refusals())


def _install():
    context = module("mindspore.context", PYNATIVE_MODE=1, GRAPH_MODE=0, set_context=lambda **keywords: None)
    top = module(
        "mindspore",
        context=context,
        hal=mindspore_hal,
        runtime=mindspore_hal,
        set_context=context.set_context,
        PYNATIVE_MODE=1,
        GRAPH_MODE=0,
    )
    top.__getattr__ = skip_for("MindSpore's tensors: mindspore")
    sys.modules["mindspore.hal"] = sys.modules["mindspore.runtime"] = mindspore_hal

    # Imported at the top of a file, they leave out the tests that call them, and not the file.
    class Needed:
        def __init__(self, *args, **keywords):
            skip_for("mindspore")("Tensor")

    top.Tensor = Needed
    top.ops = skipping("mindspore.ops")
    module("tests")
    module("tests.mark_utils", arg_mark=lambda **marks: lambda test: test)
    module("tests.st")
    module("tests.st.utils")
    module("tests.st.utils.test_utils", run_test_with_On=lambda test: test)


_install()
