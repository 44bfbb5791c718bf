# SPDX-License-Identifier: Apache-2.0
"""Collectives over the devices of a process, and between processes."""

import gc
import os
import shutil
import subprocess
import sys
import weakref

import pytest

import anyplace
from anyplace import comm


@pytest.fixture
def devices(device):
    found = anyplace.devices(device.backend)
    if len(found) < 2:
        pytest.skip("there is one device")
    return found[:2]


def test_arrays_are_copied_to_all_devices_and_added(devices):
    array = anyplace.asarray([1, 2, 3], "int32", device=devices[0])
    copies = comm.broadcast(array, devices)
    assert copies[0].address == array.address
    assert [str(each.device) for each in copies] == [str(each) for each in devices]
    assert [each.tolist() for each in copies] == [[1, 2, 3]] * 2
    total = comm.reduce_add(copies, devices[0])
    assert total.device == devices[0] and total.tolist() == [2, 4, 6]
    assert comm.reduce_add(copies, str(devices[1])).device == devices[1]
    out = [anyplace.zeros(3, "int32", device=each) for each in devices]
    for each in out:
        each.stream.synchronize()
    assert [each.tolist() for each in comm.broadcast(array, out=out)] == [[1, 2, 3]] * 2


def test_arrays_are_cut_and_put_together(devices):
    array = anyplace.asarray([[1, 2, 3], [4, 5, 6]], "float32", device=devices[0])
    parts = comm.scatter(array, devices, dim=1, chunk_sizes=[1, 2])
    assert [part.tolist() for part in parts] == [[[1], [4]], [[2, 3], [5, 6]]]
    assert comm.gather(parts, 1, destination=devices[1]).tolist() == [[1, 2, 3], [4, 5, 6]]
    host = comm.gather(parts, -1, destination="host")
    assert host.device is None and host.tolist() == [[1, 2, 3], [4, 5, 6]]
    out = anyplace.empty((2, 3), device=devices[0])
    assert comm.gather(parts, 1, out=out).tolist() == [[1, 2, 3], [4, 5, 6]]
    streams = [anyplace.Stream(devices[0]), None]
    assert len(comm.scatter(array, [str(each) for each in devices], streams=streams)) == 2


def test_several_arrays_go_together(devices):
    arrays = [anyplace.full(n, n, "int64", device=devices[0]) for n in (1, 2, 3)]
    lists = comm.broadcast_coalesced(arrays, devices)
    assert [[each.tolist() for each in part] for part in lists] == [[[1], [2, 2], [3, 3, 3]]] * 2
    sums = comm.reduce_add_coalesced(lists, devices[0])
    assert [each.tolist() for each in sums] == [[2], [4, 4], [6, 6, 6]]


def test_memory_of_the_host_stays_until_its_pieces_are_copied(devices, place, hold):
    numpy = pytest.importorskip("numpy")
    if not place.startswith("cpu_sim"):
        pytest.skip("a copy of memory that isn't pinned may wait")
    streams = [anyplace.Stream(each) for each in devices]
    gates = [hold(each) for each in streams]
    source = numpy.arange(4.0)
    lent = weakref.ref(source)
    parts = comm.scatter(anyplace.from_dlpack(source), devices, streams=streams)
    del source
    gc.collect()
    assert lent() is not None
    for gate in gates:
        gate.set()
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3]]
    for each in streams:
        each.synchronize()
    assert lent() is None


def test_bad_arguments_of_collectives_are_named(devices):
    array = anyplace.zeros(3, device=devices[0])
    for wrong in (lambda: comm.broadcast(array), lambda: comm.broadcast(array, devices, out=[array])):
        with pytest.raises(ValueError, match="devices, out"):
            wrong()
    with pytest.raises(ValueError):
        comm.broadcast(array, [devices[1]])
    with pytest.raises(ValueError):
        comm.scatter(array, devices, chunk_sizes=[1, 1])
    with pytest.raises(ValueError):
        comm.reduce_add([])
    with pytest.raises(TypeError):
        comm.broadcast([1, 2], devices)


def test_one_rank_alone_is_a_communicator(device, stream):
    alone = anyplace.Communicator(device, anyplace.Bootstrap.alone())
    assert (alone.rank, alone.size, alone.engine, alone.device) == (0, 1, "none", device)
    source = anyplace.asarray([1.0, 2.0], stream=stream)
    target = anyplace.zeros(2, "float64", stream=stream)
    alone.all_reduce(stream, target, source)
    stream.synchronize()
    assert target.tolist() == [1, 2] and alone.query() and alone.synchronize()
    with pytest.raises(ValueError, match="op"):
        alone.all_reduce(stream, target, source, "median")
    with pytest.raises(ValueError, match="destination.*float32"):
        alone.all_reduce(stream, anyplace.zeros(2, stream=stream), source)
    with pytest.raises(ValueError, match="destination.*elements"):
        alone.all_gather(stream, anyplace.zeros(3, "float64", stream=stream), source)
    with pytest.raises(ValueError, match="contiguous"):
        alone.broadcast(stream, anyplace.zeros(4, stream=stream)[::2], 0)
    with pytest.raises(ValueError, match="timeout"):
        anyplace.Communicator(device, anyplace.Bootstrap.alone(), timeout=-1)
    alone.abort()
    with pytest.raises(anyplace.ClosedError):
        alone.query()


def test_what_a_group_uses_stays_until_the_group_has_begun(device, stream):
    alone = anyplace.Communicator(device, anyplace.Bootstrap.alone())
    target = anyplace.zeros(2, "int64", stream=stream)
    with alone.group():
        alone.send(stream, anyplace.full(2, 5, "int64", stream=stream), 0)
        anyplace.full(2, 77, "int64", stream=stream)  # not where the array was that is sent at the end
        alone.recv(stream, target, 0)
    assert target.tolist() == [5, 5]


RANK = """
import os, sys, anyplace
try:
    ranks = anyplace.Communicator("cpu_sim:0", timeout=100)
except anyplace.Error as error:
    if error.code != "library_missing": raise
    sys.exit(print("skip", error))
rank, size = ranks.rank, ranks.size
stream = anyplace.Stream(ranks.device)
mine = anyplace.full(2, rank + 1, "int64", stream=stream)
total = anyplace.zeros(2, "int64", stream=stream)
ranks.all_reduce(stream, total, mine, "sum")
every = anyplace.zeros(2 * size, "int64", stream=stream)
ranks.all_gather(stream, every, mine)
part = anyplace.zeros(1, "int64", stream=stream)
ranks.reduce_scatter(stream, part, mine)
swapped = anyplace.zeros(2, "int64", stream=stream)
ranks.all_to_all(stream, swapped, mine)
root = anyplace.zeros(2, "int64", stream=stream) if rank == 0 else None
ranks.reduce(stream, root, mine, 0, "max")
peer = anyplace.zeros(2, "int64", stream=stream)
with ranks.group():
    ranks.send(stream, mine, 1 - rank)
    ranks.recv(stream, peer, 1 - rank)
ranks.broadcast(stream, mine, 1)
ranks.barrier(stream)
stream.synchronize()
assert total.tolist() == [3, 3] and every.tolist() == [1, 1, 2, 2] and part.tolist() == [3]
assert swapped.tolist() == [1, 2] and (root is None or root.tolist() == [2, 2]) and mine.tolist() == [2, 2]
assert peer.tolist() == [2 - rank] * 2
own = ranks.split(rank, 0)
assert own.size == 1 and ranks.split(-1) is None
os.write(1, f"ok {ranks.engine} {size}\\n".encode())  # at once, as the other rank writes there too
"""


def test_ranks_of_several_processes_work_together(place):
    if not place.startswith("cpu_sim"):
        pytest.skip("the doubles of GPUs are in one process")
    launcher = shutil.which("mpirun")
    if launcher is None:
        pytest.skip("there is no mpirun: openmpi-bin has one")
    # Open MPI starts nothing as root, and no more ranks than there are cores, unless it is told to.
    allowed = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe")
    program = subprocess.run(
        [launcher, "-n", "2", sys.executable, "-c", RANK],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **dict.fromkeys(allowed, "1")},
        check=False,
    )
    if "skip" in program.stdout:
        pytest.skip(program.stdout)
    assert program.returncode == 0 and program.stdout.count("ok mpi 2") == 2, program.stdout + program.stderr
