# SPDX-License-Identifier: Apache-2.0
"""A plugin for pytest: samples of torch's pages find anyplace.compat as torch.cuda, torch.accelerator, torch.Stream and torch.Event."""

import sys

from stand_ins import Refusals, module, skip_for

from anyplace.compat import torch_accelerator, torch_cuda


def pytest_configure(config):
    config.pluginmanager.register(Refusals())


def _install():
    top = module(
        "torch",
        cuda=torch_cuda,
        accelerator=torch_accelerator,
        Stream=torch_accelerator.Stream,
        Event=torch_accelerator.Event,
    )
    top.__getattr__ = skip_for("torch's tensors: torch")
    sys.modules["torch.cuda"] = torch_cuda
    sys.modules["torch.accelerator"] = torch_accelerator


_install()
