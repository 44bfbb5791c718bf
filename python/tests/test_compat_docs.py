# SPDX-License-Identifier: Apache-2.0
"""docs/compat.md says of each name of the compat modules what the modules are."""

import importlib
import inspect
import re
import types
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "compat.md"
MODULES = ("torch_cuda", "torch_accelerator", "cupy_cuda", "paddle_device", "paddle_cuda", "mindspore_hal", "cuda_core")
PACKAGE = "anyplace.compat"


def is_public_submodule(value, module):
    return isinstance(value, types.ModuleType) and value.__name__.startswith(module.__name__ + ".")


def belongs(value, module):
    """Whether the name is the module's own, and not something that it imports for itself."""
    if isinstance(value, types.ModuleType):
        return False
    if hasattr(value, "refuses") or isinstance(value, (int, str, list, tuple)):
        return True
    return str(getattr(value, "__module__", type(value).__module__)).startswith(module.__name__)


def members(name, cls):
    """The class's own public members; inherited ones have the row of the class that has them."""
    for member in vars(cls):
        if not member.startswith("_"):
            yield f"{name}.{member}"


def names_of(module, prefix=""):
    listed = getattr(module, "__all__", None)
    for name in listed if listed is not None else sorted(vars(module)):
        value = getattr(module, name)
        if name.startswith("_") or (listed is None and not belongs(value, module)):
            continue
        if is_public_submodule(value, module):
            continue
        yield prefix + name
        if inspect.isclass(value) and value.__module__.startswith(PACKAGE):
            yield from members(prefix + name, value)


def public_names(module):
    found = set(names_of(module))
    submodules = [
        (name, value)
        for name, value in vars(module).items()
        if not name.startswith("_") and is_public_submodule(value, module)
    ]
    while submodules:
        name, value = submodules.pop()
        known = {each.rpartition(".")[2] for each in found if "." not in each}
        found |= {f"{name}.{each}" for each in names_of(value) if each.partition(".")[0] not in known or name == "cuda"}
        submodules += [
            (f"{name}.{inner}", deeper)
            for inner, deeper in vars(value).items()
            if not inner.startswith("_") and is_public_submodule(deeper, value)
        ]
    return found


def rows_of(module):
    """{name: (state, note)} of the module's section."""
    text = DOCUMENT.read_text(encoding="utf-8")
    section = re.search(rf"^## `{module}`.*?$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"docs/compat.md has no section for {module}"
    rows = {}
    for names, state, note in re.findall(r"^\| (`.*?) \| (\w+) \| ?(.*?) ?\|$", section.group(1), re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", names):
            assert name not in rows, f"{name} has two rows"
            rows[name] = (state, note)
    return rows


def value_of(module, name):
    value = module
    for part in name.split("."):
        value = inspect.getattr_static(value, part) if inspect.isclass(value) else getattr(value, part)
    return value


@pytest.fixture(scope="module", params=MODULES)
def module(request):
    return importlib.import_module(f"{PACKAGE}.{request.param}")


def rows_for(module):
    return rows_of(module.__name__.rpartition(".")[2])


def test_every_public_name_has_a_row(module):
    assert public_names(module) - set(rows_for(module)) == set()


def test_every_row_is_the_same_differs_or_is_missing_with_a_reason(module):
    for name, (state, note) in rows_for(module).items():
        assert state in ("same", "differs", "missing"), name
        assert note or state == "same", f"{name}: {state}, and no word why"


def test_what_is_there_exists_and_what_is_missing_doesnt_or_refuses(module):
    for name, (state, _) in rows_for(module).items():
        try:
            value = value_of(module, name)
        except AttributeError:
            assert state == "missing", f"{name} is {state} in docs/compat.md, and isn't in the module"
            continue
        refuses = hasattr(value, "refuses") or (
            isinstance(value, property) and "NotImplementedError" in inspect.getsource(value.fget)
        )
        assert refuses == (state == "missing"), f"{name} is {state} in docs/compat.md"
