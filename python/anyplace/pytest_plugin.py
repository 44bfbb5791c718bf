# SPDX-License-Identifier: Apache-2.0
"""A plugin for pytest: devices and streams as fixtures, on the backend that the command line names.

    pytest --anyplace cpu_sim:2    # two simulated devices
    pytest --anyplace cuda         # NVIDIA's, as many as there are

Fixtures: `anyplace_devices`, `anyplace_device`, `anyplace_stream`, and `anyplace_leaks`, which fails a test that leaves
memory of a device behind. Without the option they use what "auto" finds. The modules of anyplace.compat use the same.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator

import pytest

import anyplace
from anyplace import compat


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("anyplace").addoption(
        "--anyplace",
        metavar="BACKEND[:COUNT]",
        default="auto",
        help="the backend of the fixtures, and how many devices they need: cpu_sim:2",
    )


def pytest_configure(config: pytest.Config) -> None:
    text = config.getoption("--anyplace")
    found = re.fullmatch(r"([a-z][a-z0-9_]*)(?::([1-9][0-9]{0,3}))?", text)
    if found is None:
        raise pytest.UsageError(f"--anyplace: {text!r} isn't a backend and a number of devices, such as cpu_sim:2")
    backend, count = found.group(1), int(found.group(2) or 0)
    if backend == "cpu_sim" and count:
        os.environ["ANYPLACE_CPU_SIM_DEVICES"] = str(count)
    compat.use(backend)


@pytest.fixture(scope="session")
def anyplace_devices(pytestconfig: pytest.Config) -> list[anyplace.Device]:
    """The backend's devices. Skips where there are fewer than the command line asks for."""
    backend, _, count = str(pytestconfig.getoption("--anyplace")).partition(":")
    try:
        devices = anyplace.devices(compat.backend())
    except anyplace.NoDeviceError as error:
        pytest.skip(f"{backend} has no device here: {error.problem}")
    needed = int(count or 1)
    if len(devices) < needed:
        pytest.skip(f"{needed} devices of {backend} are needed; there are {len(devices)}")
    return devices[: int(count)] if count else devices


@pytest.fixture
def anyplace_device(anyplace_devices: list[anyplace.Device]) -> anyplace.Device:
    """The first device."""
    return anyplace_devices[0]


@pytest.fixture
def anyplace_stream(anyplace_device: anyplace.Device) -> Iterator[anyplace.Stream]:
    """A stream of the first device. At the end of the test its work is waited for, and a fault of it is an error."""
    stream = anyplace.Stream(anyplace_device)
    yield stream
    stream.synchronize()


@pytest.fixture
def anyplace_leaks(anyplace_devices: list[anyplace.Device]) -> Iterator[None]:
    """Fails a test that leaves more memory of a device allocated than there was before it."""

    def allocated() -> list[int]:
        gc.collect()
        for each in anyplace_devices:
            each.synchronize()
        return [anyplace.memory.allocated(each) for each in anyplace_devices]

    before = allocated()
    yield
    for device, old, new in zip(anyplace_devices, before, allocated(), strict=True):
        if new > old:
            pytest.fail(f"the test leaves {new - old} bytes of {device} allocated", pytrace=False)
