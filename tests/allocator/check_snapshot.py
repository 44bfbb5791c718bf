#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a memory snapshot the way its readers read it.

    check_snapshot.py SNAPSHOT.pickle [--json SNAPSHOT.json] [--from-start]

The pickle is read by Python's own unpicklers with every class lookup refused, and may hold only opcodes that PyTorch's
memory viewer knows. Then the rules that the viewer relies on: blocks tile their segment; going backwards from the
segments, undoing one history entry after the other never contradicts what is there. --json: the same tree as the
pickle. --from-start: the history goes back to when there was nothing, so that undoing all of it leaves nothing.

Prints what it counted; exits with 1 and the first contradiction otherwise.
"""
import argparse
import bisect
import io
import json
import pickle
import pickletools
import sys

VIEWER_OPCODES = {
    "PROTO", "FRAME", "STOP", "MARK", "EMPTY_DICT", "EMPTY_LIST", "APPEND", "APPENDS", "SETITEM", "SETITEMS",
    "SHORT_BINUNICODE", "BINUNICODE", "MEMOIZE", "BINGET", "LONG_BINGET", "BININT", "BININT1", "BININT2", "LONG1",
    "NEWTRUE", "NEWFALSE", "NONE",
}
MOST_AT_ONCE = 65536  # items of one APPENDS: arguments of one call in the viewer

SEGMENT_KEYS = {
    "device": int, "address": int, "total_size": int, "allocated_size": int, "active_size": int, "requested_size": int,
    "stream": int, "segment_type": str, "segment_pool_id": list, "is_expandable": bool, "frames": list, "blocks": list,
}
BLOCK_KEYS = {"address": int, "size": int, "requested_size": int, "state": str, "frames": list}
EVENT_KEYS = {"action": str, "size": int, "stream": int, "time_us": int, "segment_pool_id": list, "frames": list}
ACTIONS = {
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
    "snapshot", "oom",
}
STATES = {"active_allocated", "active_pending_free", "inactive"}


class Contradiction(Exception):
    pass


def require(condition, *words):
    if not condition:
        raise Contradiction(" ".join(str(word) for word in words))


# -- The file.

def refuse(self, *what):
    raise pickle.UnpicklingError(f"the pickle looks up {what}")


class FastReader(pickle.Unpickler):
    find_class = refuse
    persistent_load = refuse


class StrictReader(pickle._Unpickler):  # the one that minds where frames end
    find_class = refuse
    persistent_load = refuse
    dispatch = dict(pickle._Unpickler.dispatch)

    def load_appends(self):
        require(len(self.stack) <= MOST_AT_ONCE, len(self.stack), "items are appended at once")
        super().load_appends()

    dispatch[pickle.APPENDS[0]] = load_appends


def read_pickle(data):
    read = []
    protocol = None
    for opcode, argument, position in pickletools.genops(data):
        require(opcode.name in VIEWER_OPCODES, "opcode", opcode.name, "at", position, "is not the viewer's")
        if opcode.name == "PROTO":
            protocol = argument
    require(protocol == 4, "the protocol is", protocol)
    for reader in (FastReader, StrictReader):
        stream = io.BytesIO(data)
        read.append(reader(stream).load())
        require(stream.read() == b"", "there is something after the pickle")
    require(read[0] == read[1], "two readers read different things")
    return read[0]


def check_plain(value):
    require(type(value) in (dict, list, str, int, bool, type(None)), "a", type(value), "in the snapshot")
    if type(value) is dict:
        for key, item in value.items():
            require(type(key) is str, "a key is a", type(key))
            check_plain(item)
    elif type(value) is list:
        for item in value:
            check_plain(item)


def check_keys(what, value, keys):
    for name, kind in keys.items():
        require(name in value, what, "has no", name, value)
        require(type(value[name]) is kind, name, "of", what, "is a", type(value[name]))


# -- Segments and blocks.

def check_segment(segment):
    check_keys("a segment", segment, SEGMENT_KEYS)
    where = f"segment {segment['address']:#x}"
    require(segment["segment_type"] in ("large", "small"), where, "is", segment["segment_type"])
    require(segment["total_size"] > 0 and segment["blocks"], where, "is empty")
    address = segment["address"]
    sums = {"allocated_size": 0, "active_size": 0, "requested_size": 0}
    for block in segment["blocks"]:
        check_keys("a block", block, BLOCK_KEYS)
        require(block["state"] in STATES, "a block is", block["state"])
        require(block["address"] == address, where, "has a block at", hex(block["address"]), "not at", hex(address))
        require(block["size"] > 0, where, "has a block of no size at", hex(address))
        address += block["size"]
        if block["state"] == "inactive":
            require(block["requested_size"] == 0, "a free block was requested:", block)
            continue
        require(0 < block["requested_size"] <= block["size"], "a block is smaller than what was requested:", block)
        sums["active_size"] += block["size"]
        sums["requested_size"] += block["requested_size"]
        if block["state"] == "active_allocated":
            sums["allocated_size"] += block["size"]
    require(address == segment["address"] + segment["total_size"], where, "isn't tiled by its blocks")
    for name, total in sums.items():
        require(segment[name] == total, where, "has", name, segment[name], "and its blocks", total)


def check_figures(own, segments):
    """What the segments add up to is what the statistics of the same moment say."""
    stats = own["memory_stats"]
    require(len(stats) == 122, "there are", len(stats), "statistics")
    blocks = [block for segment in segments for block in segment["blocks"]]
    states = [block["state"] for block in blocks]
    expected = {
        "reserved_bytes": sum(segment["total_size"] for segment in segments),
        "allocated_bytes": sum(segment["allocated_size"] for segment in segments),
        "active_bytes": sum(segment["active_size"] for segment in segments),
        "allocation": states.count("active_allocated"),
        "active": len(states) - states.count("inactive"),
        "requested_bytes": sum(segment["requested_size"] for segment in segments),
    }
    for name, value in expected.items():
        said = stats[f"{name}.all.current"]
        require(said == value, own["place"], f"{name}.all.current is", said, "and the segments come to", value)
        parts = sum(stats[f"{name}.{pool}.current"] for pool in ("large_pool", "small_pool"))
        require(said == parts, own["place"], name, "of all is", said, "and of both pools", parts)


# -- The history, backwards.

class Ranges:
    """Ranges of addresses that don't overlap, each with something about it."""

    def __init__(self):
        self.starts = []
        self.at = {}  # start: (end, what)

    def add(self, what, start, end, about):
        require(start < end, what, "at", hex(start), "has no size")
        found = self.overlapping(start, end)
        require(found is None, what, hex(start), "to", hex(end), "overlaps what is there at", hex(found or 0))
        bisect.insort(self.starts, start)
        self.at[start] = (end, about)

    def remove(self, start):
        del self.starts[bisect.bisect_left(self.starts, start)]
        return self.at.pop(start)

    def overlapping(self, start, end):
        """The start of a range that overlaps this one."""
        index = bisect.bisect_left(self.starts, end)
        if index > 0 and self.at[self.starts[index - 1]][0] > start:
            return self.starts[index - 1]
        return None

    def around(self, start, end):
        """The start of the range that has all of this in it."""
        index = bisect.bisect_right(self.starts, start)
        if index > 0 and end <= self.at[self.starts[index - 1]][0]:
            return self.starts[index - 1]
        return None


class Memory:
    """A device's memory at some moment; undo() goes to the moment before an entry."""

    def __init__(self, segments):
        self.segments = Ranges()  # about: the stream
        self.blocks = Ranges()  # about: [requested size, pending, stream or None]
        for segment in segments:
            start = segment["address"]
            self.segments.add("segment", start, start + segment["total_size"], segment["stream"])
            for block in segment["blocks"]:
                if block["state"] != "inactive":
                    about = [block["requested_size"], block["state"] == "active_pending_free", None]
                    self.blocks.add("block", block["address"], block["address"] + block["size"], about)

    def undo(self, event):
        check_keys("an entry", event, EVENT_KEYS)
        require(event["action"] in ACTIONS, "the action", event["action"])
        if event["action"] == "oom":
            require(type(event.get("device_free")) is int, "an oom without device_free:", event)
        else:
            require(type(event.get("addr")) is int, "an entry without addr:", event)
        getattr(self, event["action"])(event)

    def live(self, event):
        require(event["addr"] in self.blocks.at, "no block is there afterwards")
        about = self.blocks.at[event["addr"]][1]
        require(about[0] == event["size"], "the block's requested size is", about[0])
        require(about[2] in (None, event["stream"]), "the block's stream is", about[2])
        about[2] = event["stream"]
        return about

    def alloc(self, event):
        require(not self.live(event)[1], "the block is about to be freed without having been asked for")
        self.blocks.remove(event["addr"])

    def free_requested(self, event):
        about = self.live(event)
        require(about[1], "the block is in use afterwards")
        about[1] = False

    def free_completed(self, event):
        start, end = event["addr"], event["addr"] + event["size"]
        require(self.segments.around(start, end) is not None, "no segment is there")
        self.blocks.add("block", start, end, [event["size"], True, event["stream"]])

    def segment_free(self, event):
        self.segments.add("segment", event["addr"], event["addr"] + event["size"], event["stream"])

    def segment_alloc(self, event):
        start, end = event["addr"], event["addr"] + event["size"]
        require(self.segments.at.get(start) == (end, event["stream"]), "no such segment is there afterwards")
        require(self.blocks.overlapping(start, end) is None, "a block was there before its segment")
        self.segments.remove(start)

    def segment_unmap(self, event):
        """Pages that touch are one segment, if they are one stream's."""
        start, end, stream = event["addr"], event["addr"] + event["size"], event["stream"]
        self.segments.add("pages", start, end, stream)
        if self.segments.at.get(end, (0, None))[1] == stream:
            last = self.segments.remove(end)[0]
            self.segments.at[start] = (last, stream)
        index = bisect.bisect_left(self.segments.starts, start)
        before = self.segments.starts[index - 1] if index > 0 else None
        if before is not None and self.segments.at[before] == (start, stream):
            self.segments.at[before] = (self.segments.remove(start)[0], stream)

    def segment_map(self, event):
        start, end = event["addr"], event["addr"] + event["size"]
        around = self.segments.around(start, end)
        require(around is not None, "no segment has these pages afterwards")
        last, stream = self.segments.at[around]
        require(stream == event["stream"], "the segment is of stream", stream)
        require(self.blocks.overlapping(start, end) is None, "a block was there before its pages")
        self.segments.remove(around)
        if around < start:
            self.segments.add("segment", around, start, stream)
        if end < last:
            self.segments.add("segment", end, last, stream)

    def snapshot(self, event):
        pass

    def oom(self, event):
        pass


def check_history(number, segments, history, from_start):
    memory = Memory(segments)
    for index in range(len(history) - 1, -1, -1):
        try:
            memory.undo(history[index])
        except Contradiction as reason:
            raise Contradiction(f"device {number}, entry {index} of {len(history)}, {history[index]}: {reason}")
    if from_start:
        require(not memory.blocks.at, "device", number, "had blocks before its history:", memory.blocks.at)
        require(not memory.segments.at, "device", number, "had segments before its history:", memory.segments.at)


def check(snapshot, from_start):
    check_plain(snapshot)
    for name, kind in {"segments": list, "device_traces": list, "allocator_settings": dict,
                       "external_annotations": list, "anyplace": list}.items():
        require(type(snapshot.get(name)) is kind, name, "is a", type(snapshot.get(name)))
    for segment in snapshot["segments"]:
        check_segment(segment)
    for number, history in enumerate(snapshot["device_traces"]):
        segments = [segment for segment in snapshot["segments"] if segment["device"] == number]
        check_history(number, segments, history, from_start)
    numbers = [own["device"] for own in snapshot["anyplace"]]
    for segment in snapshot["segments"]:
        require(segment["device"] in numbers, "a segment is of device", segment["device"])
    for own in snapshot["anyplace"]:
        require(own["device"] < len(snapshot["device_traces"]), own["place"], "has no history, not even an empty one")
        check_figures(own, [segment for segment in snapshot["segments"] if segment["device"] == own["device"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pickle")
    parser.add_argument("--json")
    parser.add_argument("--from-start", action="store_true")
    arguments = parser.parse_args()
    try:
        with open(arguments.pickle, "rb") as file:
            snapshot = read_pickle(file.read())
        if arguments.json:
            with open(arguments.json, encoding="utf-8") as file:
                require(json.load(file) == snapshot, "the JSON says something else than the pickle")
        check(snapshot, arguments.from_start)
    except Contradiction as reason:
        sys.exit(f"contradiction: {reason}")
    counts = {}
    for history in snapshot["device_traces"]:
        for event in history:
            counts[event["action"]] = counts.get(event["action"], 0) + 1
    print(json.dumps({"segments": len(snapshot["segments"]),
                      "blocks": sum(len(segment["blocks"]) for segment in snapshot["segments"]), "events": counts}))


if __name__ == "__main__":
    main()
