#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes snapshot-protocol-N.pickle, N from 2 to 5: one memory snapshot of the form that torch.cuda.memory._snapshot()
gives, as Python's own pickle writes it. Beside the fields that a replay reads it has those that it must pass over."""
import pathlib
import pickle

frames = [{"filename": "/work/train.py", "line": 70_000, "name": "step"},
          {"filename": "/work/modèle.py", "line": 12, "name": "forward"}]
base = 0x7F3A_0000_0000


def event(action, addr, size, stream=0):
    return {"action": action, "addr": addr, "size": size, "stream": stream, "time_us": 1_700_000_000_000_000,
            "frames": frames, "segment_pool_id": (0, 0), "compile_context": None, "user_metadata": ""}


history = [
    event("free_requested", base + 0x900000, 512),
    event("free_completed", base + 0x900000, 512),  # allocated before the history began
    event("segment_alloc", base, 2 << 20),
    event("alloc", base, 1000),
    event("alloc", base + 1024, 300_000, 94_000_000_000_001),
    event("free_requested", base, 1000),
    event("free_completed", base, 1000),
    event("alloc", base, 700),
    event("segment_map", base + (2 << 20), 20 << 20),
    event("alloc", base + (2 << 20), 20_000_000),
    {"action": "oom", "device_free": 123, "size": 1 << 40, "stream": 0, "time_us": 1, "frames": []},
    event("free_requested", base + 1024, 300_000, 94_000_000_000_001),
    event("free_completed", base + 1024, 300_000, 94_000_000_000_001),
    event("snapshot", 0, 0),
]
snapshot = {
    "segments": [{"device": 0, "address": base, "total_size": 2 << 20, "allocated_size": 700, "active_size": 700,
                  "requested_size": 700, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0),
                  "is_expandable": False, "frames": frames,
                  "blocks": [{"address": base, "size": 1024, "requested_size": 700, "state": "active_allocated",
                              "frames": frames}]}],
    "device_traces": [[], history],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.5,
                           "expandable_segments": True, "roundup_power2_divisions": {"1": 0}},
    "external_annotations": [],
}
for protocol in range(2, 6):
    if protocol > 2:  # which protocol 2 can say by a call only
        snapshot["allocator_settings"]["raw"] = b"\x00\xff"
    with open(pathlib.Path(__file__).parent / f"snapshot-protocol-{protocol}.pickle", "wb") as file:
        pickle.dump(snapshot, file, protocol=protocol)
