# SPDX-License-Identifier: Apache-2.0
"""Other libraries' names for devices, streams, events and memory: code runs after one import is changed.

    from anyplace.compat import torch_cuda            # for torch.cuda
    from anyplace.compat import torch_accelerator     # for torch.accelerator
    from anyplace.compat import cupy_cuda             # for cupy.cuda
    from anyplace.compat import paddle_device         # for paddle.device; paddle_device.cuda
    from anyplace.compat import mindspore_hal         # for mindspore.hal and mindspore.runtime
    from anyplace.compat import cuda_core             # for cuda.core

Device 0 of such a module is device 0 of one backend: the one that use() names, else ANYPLACE_COMPAT, else what "auto"
finds. docs/compat.md has each name, and where it differs. Importing loads no driver.
"""

from ._shared import backend, use

__all__ = ["backend", "use"]
