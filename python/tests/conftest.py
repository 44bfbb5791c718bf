# SPDX-License-Identifier: Apache-2.0
"""The place that the tests run on: ANYPLACE_TEST_PLACE, else cpu_sim:0."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

import anyplace


@pytest.fixture(scope="session")
def place() -> str:
    return os.environ.get("ANYPLACE_TEST_PLACE", "cpu_sim:0")


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
