# SPDX-License-Identifier: Apache-2.0
"""The figures of a device's caching allocator. docs/memory-statistics.md explains them; sizes are bytes."""

from ._core import empty_cache, set_per_process_memory_fraction
from ._core import max_memory_allocated as max_allocated
from ._core import max_memory_reserved as max_reserved
from ._core import memory_allocated as allocated
from ._core import memory_reserved as reserved
from ._core import memory_snapshot as snapshot
from ._core import memory_stats as stats
from ._core import memory_summary as summary
from ._core import reset_accumulated_memory_stats as reset_accumulated_stats
from ._core import reset_peak_memory_stats as reset_peak_stats

__all__ = [
    "allocated",
    "empty_cache",
    "max_allocated",
    "max_reserved",
    "reserved",
    "reset_accumulated_stats",
    "reset_peak_stats",
    "set_per_process_memory_fraction",
    "snapshot",
    "stats",
    "summary",
]
