# SPDX-License-Identifier: Apache-2.0
"""Device, the current device, and errors."""

import pickle

import pytest

import anyplace


def test_a_device_is_a_value(device, place):
    same = anyplace.Device(place)
    assert device == same and hash(device) == hash(same) and not device < same
    assert str(device) == device.place == f"{device.backend}:{device.index}"
    assert repr(device) == f"Device('{device}')"
    assert device != "cpu_sim:0"
    assert pickle.loads(pickle.dumps(device)) == device


def test_a_device_has_facts(device):
    assert device.properties.name
    assert device.properties.max_threads_per_block > 0
    assert set(device.capabilities) <= set(anyplace.Device.CAPABILITIES)
    assert device.has("timed_events") == ("timed_events" in device.capabilities)
    least, greatest = device.priority_range
    assert greatest <= 0 <= least
    assert device in anyplace.devices(device.backend)
    assert device.synchronize() and device.synchronize(timeout=1)


def test_with_makes_a_device_current_and_restores_the_former_one():
    first, second = anyplace.devices("cpu_sim")[0], anyplace.devices("cpu_sim")[-1]
    before = anyplace.current_device("cpu_sim")
    with second as entered:
        assert entered == second and anyplace.current_device("cpu_sim") == second
        with pytest.raises(KeyError), first:
            raise KeyError
        assert anyplace.current_device("cpu_sim") == second
    assert anyplace.current_device("cpu_sim") == before


def test_what_isnt_there_is_named_with_what_is():
    with pytest.raises(anyplace.NoDeviceError) as caught:
        anyplace.Device("cpu_sim:999")
    error = caught.value
    assert error.code == "no_such_device" and "cpu_sim:999" in str(error) and error.remedy
    with pytest.raises(ValueError, match="not a place"):
        anyplace.Device("not a place")
    with pytest.raises(LookupError):
        anyplace.Device("nosuchbackend:0")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and again.remedy == error.remedy and str(again) == str(error)


@pytest.mark.parametrize("bad", [0, None, b"cpu_sim:0", ["cpu_sim:0"]])
def test_a_place_of_another_type_is_a_type_error(bad):
    with pytest.raises(TypeError, match="place"):
        anyplace.Device(bad)


def test_a_capability_that_isnt_one_is_a_value_error(device):
    with pytest.raises(ValueError, match="capability"):
        device.has("wings")


@pytest.mark.parametrize("bad", [-1, float("nan")])
def test_a_bad_timeout_is_named(device, bad):
    with pytest.raises(ValueError, match="timeout"):
        device.synchronize(timeout=bad)


def test_plugins_are_told_without_being_opened(run):
    program = run("import anyplace; print({p.state for p in anyplace.plugins()}, 'cpu_sim' in anyplace.backends())")
    assert program.stdout == "{'unopened'} True\n", program.stderr


def test_importing_opens_no_driver_and_needs_no_numpy(run):
    program = run(
        "import sys, anyplace\n"
        "maps = open('/proc/self/maps').read()\n"
        "print('anyplace_backend' in maps, 'libcuda' in maps, 'numpy' in sys.modules)"
    )
    assert program.stdout == "False False False\n", program.stderr
