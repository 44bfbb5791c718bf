# SPDX-License-Identifier: Apache-2.0
"""NumPy, torch, Paddle and JAX on one piece of memory: each gives its array to anyplace and takes it back, without a copy.

    python exchange.py [PLACE]        cpu_sim:0 if not given; these libraries share memory of the host with it

A stream adds to what each library made, and the library sees the sum: the memory is the same. A library that isn't
installed is left out. Exit status: 0 where every address and number is right.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import anyplace


class Library(NamedTuple):
    """How an array is made of numbers, taken by DLPack, asked for its address, and added to where it is."""

    name: str
    make: Callable[[ModuleType], Any]
    take: Callable[[ModuleType, anyplace.Array], Any]
    address: Callable[[Any], int]
    add_one: Callable[[Any], Any] | None


LIBRARIES = [
    Library(
        "numpy",
        lambda np: np.arange(6, dtype="float32"),
        lambda np, x: np.from_dlpack(x),
        lambda x: x.ctypes.data,
        lambda x: x.__iadd__(1),
    ),
    Library(
        "torch",
        lambda torch: torch.arange(6).float(),
        lambda torch, x: torch.from_dlpack(x),
        lambda x: x.data_ptr(),
        lambda x: x.add_(1),
    ),
    Library(
        "paddle",
        lambda paddle: paddle.arange(6, dtype="float32"),
        lambda paddle, x: paddle.utils.dlpack.from_dlpack(x),
        lambda x: x.data_ptr(),
        lambda x: x.scale_(1.0, bias=1.0),
    ),
    Library(
        "jax",
        lambda jax: jax.numpy.arange(6, dtype="float32"),
        lambda jax, x: jax.dlpack.from_dlpack(x),
        lambda x: x.unsafe_buffer_pointer(),
        None,  # JAX's arrays are never to be changed
    ),
]


def exchange(library: Library, module: ModuleType, compute: anyplace.Stream, copies: anyplace.Stream) -> None:
    """Both ways, on two streams: `compute` adds, and `copies` brings the sum to the library's own memory."""
    # Theirs, as an array of ours: it is memory of the host, at the same address.
    theirs = library.make(module)
    lent = anyplace.from_dlpack(theirs)
    assert lent.address == library.address(theirs), library.name
    # Its numbers go to the device on one stream, and are added to on another, which waits for the first one by itself.
    ours = anyplace.empty(6, "float32", stream=copies)
    copies.copy(ours, lent)
    total = anyplace.full(6, 10.0, "float32", stream=compute)
    total += ours
    # Ours, as an array of theirs: DLPack makes the host wait for the array's stream, and the address is the same.
    taken = library.take(module, total)
    assert library.address(taken) == total.address, library.name
    assert [float(x) for x in taken] == [10, 11, 12, 13, 14, 15], library.name
    if library.add_one is not None:
        library.add_one(taken)  # the library writes into memory of the device
        assert total.tolist() == [11, 12, 13, 14, 15, 16], library.name
        copies.wait_stream(compute)
        copies.copy(lent, total)  # and the device into the library's
        copies.synchronize()
        assert [float(x) for x in theirs] == [11, 12, 13, 14, 15, 16], library.name
    print(f"{library.name} {module.__version__}: both ways at one address, {'written' if library.add_one else 'read'}")


def main(place: str) -> None:
    compute, copies = anyplace.Stream(place), anyplace.Stream(place)
    for library in LIBRARIES:
        try:
            module = importlib.import_module(library.name)
        except ImportError as error:
            print(f"{library.name}: left out, {error}")
            continue
        exchange(library, module, compute, copies)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cpu_sim:0")
