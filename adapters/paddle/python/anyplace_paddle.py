# SPDX-License-Identifier: Apache-2.0
"""Puts anyplace's own words into Paddle's exceptions.

Paddle takes a number from a plug-in that failed, and raises "CustomDevice error, the error code is : 4". The plug-in writes what
anyplace said on standard error; with this module it is in the exception, too:

    import paddle, anyplace_paddle

    with anyplace_paddle.explained():
        model(x)          # what is raised has a note: "anyplace: ... device_lost: the device failed for good ..."

It is optional, and needs Python 3.11 for notes; before, the text is appended to the exception's arguments."""
import contextlib
import ctypes
import functools
import os

__all__ = ["clear_error", "explained", "last_error"]


@functools.lru_cache(maxsize=None)
def _plugin():
    """The plug-in that Paddle has opened in this process; None where there is none."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = sorted({line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "libpaddle-custom-" in line})
    for path in paths:
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
            library.anyplace_paddle_last_error.restype = ctypes.c_char_p
            return library
        except (OSError, AttributeError):
            continue  # another vendor's
    return None


def last_error():
    """What the plug-in reported last on this thread; "" if nothing was."""
    library = _plugin()
    return "" if library is None else library.anyplace_paddle_last_error().decode(errors="replace")


def clear_error():
    """Forgets it."""
    library = _plugin()
    if library is not None:
        library.anyplace_paddle_clear_error()


@contextlib.contextmanager
def explained():
    """An exception that leaves the block has a note with what anyplace said inside it, if it said something."""
    clear_error()
    try:
        yield
    except Exception as error:
        text = last_error()
        if text:
            if hasattr(error, "add_note"):
                error.add_note("anyplace: " + text)
            else:
                error.args = (*error.args, "anyplace: " + text)
        raise
