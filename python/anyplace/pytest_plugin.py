# SPDX-License-Identifier: Apache-2.0
"""The plugin for pytest, which is found by itself where anyplace is installed. python/README.md describes it.

    pytest --anyplace cpu_sim:0 --anyplace cuda:0     each test that uses a fixture of it runs on both
    pytest --anyplace cpu_sim:0 --anyplace-devices 2 --anyplace-memory 64MiB
    pytest --anyplace cpu_sim:0 --anyplace-faults 'memory_allocate=out_of_memory nth=3'

Without --anyplace the fixtures skip, and nothing else happens.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from anyplace import Device, Stream

_MARK = "anyplace(*backends, leaks=False): runs on places of these backends alone; with leaks=True it may leave things"
_PLACE = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)*(:(0|[1-9][0-9]*))?")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("anyplace", "devices for tests")
    group.addoption(
        "--anyplace",
        action="append",
        metavar="PLACE",
        default=[],
        help="run tests that use a fixture of anyplace on this device, such as cpu_sim:0; may be given again",
    )
    group.addoption(
        "--anyplace-devices", type=int, metavar="N", help="how many devices cpu_sim has; the place's own at least"
    )
    group.addoption("--anyplace-memory", metavar="SIZE", help="memory of each device of cpu_sim, such as 64MiB")
    group.addoption(
        "--anyplace-faults",
        metavar="RULES",
        help="fail calls as the layer faults does; each test begins with the rules anew. @FILE reads them",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    places: list[str] = config.getoption("--anyplace")
    for place in places:
        if not _PLACE.fullmatch(place):
            raise pytest.UsageError(f"--anyplace: {place!r} is no place; cpu_sim:0 and cuda are: docs/places.md")
    for name in ("devices", "memory", "faults"):
        if not places and config.getoption(f"--anyplace-{name}") is not None:
            raise pytest.UsageError(f"--anyplace-{name} needs --anyplace PLACE")
    if not places:
        return
    for place in places:
        config.addinivalue_line("markers", f"{_backend(place)}: runs on {place} (by --anyplace)")
    _simulate(config, places)
    rules = config.getoption("--anyplace-faults")
    if rules is not None:
        _use_faults(rules)
    config.pluginmanager.register(_Checks(rules), "anyplace-checks")


def _backend(place: str) -> str:
    return re.split("[+:]", place)[0]


def _simulate(config: pytest.Config, places: list[str]) -> None:
    """The simulator reads these when it is first used, which is after the configuration."""
    indices = [int(place.partition(":")[2] or 0) for place in places if _backend(place) == "cpu_sim"]
    asked = config.getoption("--anyplace-devices")
    if asked is not None and asked < 1:
        raise pytest.UsageError(f"--anyplace-devices: {asked} is no number of devices; 1 or more is")
    if indices:
        there = asked or int(os.environ.get("ANYPLACE_CPU_SIM_DEVICES", "1"))
        os.environ["ANYPLACE_CPU_SIM_DEVICES"] = str(max(there, max(indices) + 1))
    size = config.getoption("--anyplace-memory")
    if size is not None:
        if not re.fullmatch(r"[0-9]+([KMG](iB)?)?", size):
            raise pytest.UsageError(f"--anyplace-memory: {size!r} is no size; 64MiB and 1048576 are")
        os.environ["ANYPLACE_CPU_SIM_MEMORY"] = size


def _use_faults(rules: str) -> None:
    import anyplace

    try:
        anyplace.layers.use(["faults"])
        anyplace.layers.command("faults", "add", _text_of(rules))
        anyplace.layers.command("faults", "clear")
    except (anyplace.Error, OSError) as error:
        raise pytest.UsageError(f"--anyplace-faults: {error}") from None


def _text_of(rules: str) -> str:
    if not rules.startswith("@"):
        return rules
    with open(rules[1:], encoding="utf-8") as file:
        return file.read()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test on a device runs once for each place, and has the mark of its backend: -m cpu_sim."""
    if "anyplace_place" not in metafunc.fixturenames:
        return
    places: list[str] = metafunc.config.getoption("--anyplace")
    mark = metafunc.definition.get_closest_marker("anyplace")
    wanted = mark.args if mark is not None else ()
    params = []
    for place in places:
        marks = [getattr(pytest.mark, _backend(place))]
        if wanted and _backend(place) not in wanted:
            marks.append(pytest.mark.skip(f"{place}: the test is for {', '.join(wanted)}"))
        params.append(pytest.param(place, marks=marks))
    if not params:
        params = [pytest.param("", marks=pytest.mark.skip("no device is given: pytest --anyplace cpu_sim:0"))]
    metafunc.parametrize("anyplace_place", params, scope="session")


@pytest.fixture(scope="session")
def anyplace_place(request: pytest.FixtureRequest) -> str:
    """The text of the device that the test runs on."""
    return str(request.param)


@pytest.fixture
def anyplace_device(anyplace_place: str) -> Device:
    """The device that the test runs on. The modules of anyplace.compat use its backend."""
    import anyplace
    from anyplace import compat

    device = anyplace.Device(anyplace_place)
    compat.use(device.backend)
    return device


@pytest.fixture
def anyplace_devices(anyplace_device: Device) -> list[Device]:
    """All devices of its backend, that device first."""
    import anyplace

    others = [device for device in anyplace.devices(anyplace_device.backend) if device != anyplace_device]
    return [anyplace_device, *others]


@pytest.fixture
def anyplace_stream(anyplace_device: Device) -> Generator[Stream, None, None]:
    """A stream of the device. At the test's end it is waited for, and its fault is the test's."""
    import anyplace

    stream = anyplace.Stream(anyplace_device)
    yield stream
    try:
        stream.synchronize()
    except anyplace.ClosedError:
        pass  # the test closed it


@pytest.fixture
def anyplace_limit_memory(anyplace_device: Device) -> Generator[Callable[[int], None], None, None]:
    """anyplace_limit_memory(bytes): buffers of more than that are out of memory, up to the test's end."""
    from anyplace import memory

    total = anyplace_device.memory_info()[1]

    def limit(nbytes: int) -> None:
        if total is None:
            pytest.skip(f"{anyplace_device} doesn't tell how much memory it has")
        if not 0 <= nbytes <= total:
            raise ValueError(f"nbytes: {nbytes} isn't within the device's {total}")
        memory.empty_cache(anyplace_device)
        memory.set_per_process_memory_fraction(anyplace_device, nbytes / total)

    yield limit
    memory.set_per_process_memory_fraction(anyplace_device, 1.0)


@pytest.fixture
def anyplace_faults(anyplace_place: str) -> Generator[Callable[[str], None], None, None]:
    """anyplace_faults(rules): fails calls from here to the test's end. The layer has to be on: --anyplace-faults ''."""
    from anyplace import layers

    def add(rules: str) -> None:
        if "faults" not in layers.of(_backend(anyplace_place)):
            pytest.skip("the layer faults isn't on: pytest --anyplace-faults ''")
        layers.command("faults", "add", rules)

    yield add
    layers.command("faults", "clear")


def _left(device: Device) -> dict[str, int]:
    """What there is, by its name for people."""
    from anyplace import memory
    from anyplace._core import live_objects

    stats = memory.stats(device)
    return {
        **live_objects(),
        "buffers": stats["allocation.all.current"],
        "bytes in them": stats["allocated_bytes.all.current"],
    }


_OUTCOME = pytest.StashKey[bool]()


class _Checks:
    """What happens around each test on a device: fresh rules, and a look at what it leaves."""

    def __init__(self, rules: str | None) -> None:
        self._rules = rules

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "call":
            item.stash[_OUTCOME] = report.passed
        return report

    @pytest.fixture(autouse=True)
    def anyplace_checks(self, request: pytest.FixtureRequest) -> Generator[None, None, None]:
        """Comes before the test's other fixtures and goes after them; what wider fixtures have isn't the test's."""
        if "anyplace_place" not in request.fixturenames:
            yield
            return
        import anyplace

        device = anyplace.Device(request.getfixturevalue("anyplace_place"))
        gc.collect()
        before = _left(device)
        if self._rules:
            anyplace.layers.command("faults", "add", _text_of(self._rules))
        yield
        if self._rules is not None:
            anyplace.layers.command("faults", "clear")
        mark = request.node.get_closest_marker("anyplace")
        if mark is not None and mark.kwargs.get("leaks"):
            return
        if request.node.stash.get(_OUTCOME, False):  # a failure's traceback keeps what the test had
            _check(request.node, device, before)


def _check(item: Any, device: Device, before: dict[str, int]) -> None:
    item.funcargs.clear()  # pytest's own references to the values of fixtures
    gc.collect()
    after = _left(device)
    left = [f"{name}: {after[name] - before[name]}" for name in before if after[name] > before[name]]
    if left:
        pytest.fail(
            f"the test left {', '.join(left)} on {device}. Close them, or let go what refers to them; what is meant to "
            "stay belongs into a fixture of a wider scope, or the test has @pytest.mark.anyplace(leaks=True)",
            pytrace=False,
        )
