# SPDX-License-Identifier: Apache-2.0
"""What the plugins here share: modules that stand in for an original's, and tests that are left out for a reason."""

import sys
import types

import pytest


def module(name, **members):
    """Makes a module that imports find by that name."""
    made = types.ModuleType(name)
    made.__dict__.update(members)
    made.__path__ = []
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, made)
    return made


def skip_for(name):
    """For a module's __getattr__: leaves out the test, or the file, that needs another member."""

    def needed(member):
        if member.startswith("__"):
            raise AttributeError(member)
        pytest.skip(f"needs {name}.{member}", allow_module_level=True)

    return needed


def skipping(name):
    """A module whose every member leaves the test out."""
    made = module(name)
    made.__getattr__ = skip_for(name)
    return made


class Refusals:
    """A name that a compat module refuses leaves its test out, with the module's reason."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        error = None if call.excinfo is None else call.excinfo.value
        if isinstance(error, NotImplementedError) and "docs/compat.md" in str(error):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {error}")
        return report
