# SPDX-License-Identifier: Apache-2.0
"""The place that the tests run on: ANYPLACE_TEST_PLACE, else cpu_sim:0."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

import anyplace
from anyplace import compat


# What these fixtures give is one thing, which several threads at once would take from each other, or the thread's own.
ALONE = {"core_device", "gate", "hold", "numbers", "run", "run_tests"}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thread_unsafe(reason): pytest-run-parallel runs the test in one thread")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if ALONE & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.thread_unsafe(reason="its fixtures are for one thread"))


@pytest.fixture(scope="session")
def place() -> str:
    return os.environ.get("ANYPLACE_TEST_PLACE", "cpu_sim:0")


@pytest.fixture(scope="session", autouse=True)
def compat_backend(place: str) -> None:
    """The modules of anyplace.compat use the same backend."""
    compat.use(place.partition(":")[0])


@pytest.fixture
def hold() -> Iterator[Callable[[anyplace.Stream], threading.Event]]:
    """hold(stream) keeps the stream's later work back until the event that it returns is set, or the test ends."""
    held: list[tuple[threading.Event, anyplace.Stream]] = []

    def holding(stream: anyplace.Stream) -> threading.Event:
        event = threading.Event()
        stream.launch_host_func(event.wait, 60)
        held.append((event, stream))
        return event

    yield holding
    for event, stream in held:
        event.set()
        stream.synchronize()


@pytest.fixture
def device(place: str) -> anyplace.Device:
    return anyplace.Device(place)


@pytest.fixture
def stream(device: anyplace.Device) -> anyplace.Stream:
    return anyplace.Stream(device)


@pytest.fixture
def run() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in an interpreter of its own, which a hanging one doesn't outlive."""

    def program(source: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **variables}
        return subprocess.run(
            [sys.executable, "-c", source], capture_output=True, text=True, timeout=120, env=environment, check=False
        )

    return program
