#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs torch's own samples of its operators (torch.testing's op_db, which the wheel carries) on anyplace:0 and on the CPU, and
compares what comes out: forward, and backward where the operator has one.

  operators.py [--samples N] [--only NAME]... [--known FILE]

Prints a line for each operator that fails, and at the end "N passed, N failed, N skipped". An operator is skipped where its
samples can't be made or run on the CPU, or where what comes out on the CPU isn't the same twice
(uninitialised memory, for example). --known names a file with lines
"operator: reason": these may fail, and are counted as known; one that passes is said, and counts as failed, so that the list
stays true."""
import argparse
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("anyplace:0")
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}


def moved(tree, device):
    def move(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().to(device).requires_grad_(leaf.requires_grad)
        return device if isinstance(leaf, torch.device) else leaf

    return tree_map(move, tree)


def outputs(op, sample, device):
    """The results, and the gradients of the inputs, on the host."""
    inputs, args, kwargs = moved((sample.input, sample.args, sample.kwargs), device)
    if "device" in kwargs:
        kwargs["device"] = device
    torch.manual_seed(0)
    result = op(inputs, *args, **kwargs)
    found = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor)]
    leaves = [leaf for leaf in tree_flatten((inputs, args, kwargs))[0] if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    gradients = []
    if leaves and op.supports_autograd:
        torch.manual_seed(0)
        total = sum(leaf.abs().sum() for leaf in found if leaf.requires_grad and leaf.is_floating_point())
        if isinstance(total, torch.Tensor):
            gradients = [g for g in torch.autograd.grad(total, leaves, allow_unused=True) if g is not None]
    for leaf in found:
        if leaf.device.type != device.type and found[0].device.type != "cpu":
            raise AssertionError(f"a result is on {leaf.device}")
    return [leaf.detach().to("cpu") for leaf in found + gradients if leaf.layout == torch.strided]


def agree(ours, expected):
    for mine, theirs in zip(ours, expected, strict=True):
        torch.testing.assert_close(mine, theirs, equal_nan=True, rtol=1e-4, atol=1e-4)


def check(op, most):
    """None if all samples agree, "skipped" if the CPU has none to compare with, else what is wrong."""
    dtype = torch.float32 if torch.float32 in op.dtypes else next(iter(sorted(op.dtypes, key=str)), None)
    if dtype is None:
        return "skipped"
    compared = 0
    try:
        samples = list(op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd and dtype.is_floating_point))
    except Exception:
        return "skipped"
    for sample in samples[:most]:
        try:
            expected = outputs(op, sample, torch.device("cpu"))
            agree(outputs(op, sample, torch.device("cpu")), expected)
        except Exception:
            continue  # nothing to compare with: it fails, or what comes out is uninitialised memory
        try:
            ours = outputs(op, sample, DEVICE)
            agree(ours, expected)
        except Exception as problem:
            return f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
        compared += 1
    return None if compared else "skipped"


def read_known(path):
    if path is None:
        return {}
    with open(path) as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--only", action="append")
    parser.add_argument("--known")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known, count = read_known(options.known), {"passed": 0, "failed": 0, "skipped": 0, "known": 0}
    for op in op_db:
        name = op.full_name if hasattr(op, "full_name") else op.name
        if options.only and name not in options.only:
            continue
        found = "skipped" if name in UNINITIALISED else check(op, options.samples)
        if found == "skipped":
            count["skipped"] += 1
        elif found is None and name not in known:
            count["passed"] += 1
        elif found is None:
            count["failed"] += 1
            print(f"{name}: passes, and is in the list of those that don't", flush=True)
        elif name in known:
            count["known"] += 1
        else:
            count["failed"] += 1
            print(f"{name}: {found}", flush=True)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped, {count['known']} known to fail")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
