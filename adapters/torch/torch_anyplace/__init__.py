# SPDX-License-Identifier: Apache-2.0
"""The device type `anyplace` for PyTorch: torch.device("anyplace:0") and the module torch.anyplace.

ANYPLACE_TORCH_PLACES says which devices of anyplace's these are: places with commas between, for example `cpu_sim`,
`cuda:1,cuda:0`. A name alone is every device of that backend. Without it they are those of the backend that `auto` finds."""
import torch

from . import _build, _versions

if _problem := _versions.problem_of_build(torch.__version__, _build.TORCH):
    raise ImportError(_problem)

from . import _C, device_module  # noqa: E402

_NAME = "anyplace"


def _register():
    if getattr(torch, _NAME, None) is device_module:
        return
    taken = torch._C._get_privateuse1_backend_name()
    if taken not in ("privateuseone", _NAME):
        raise ImportError(f"torch has room for one device type beside its own, and in this process that is {taken!r} already; "
                          f"import torch_anyplace in a process without it")
    torch.utils.rename_privateuse1_backend(_NAME)
    torch._register_device_module(_NAME, device_module)
    torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_packed_sequence=True,
                                                         for_storage=True)


_register()

__all__ = ["device_module"]
