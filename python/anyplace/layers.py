# SPDX-License-Identifier: Apache-2.0
"""Layers, which see every call to a backend: `trace` writes them to a file, `faults` fails them. docs/layers.md."""

from ._core import layer_command as command
from ._core import layers_of as of
from ._core import use_layers as use

__all__ = ["command", "of", "use"]
