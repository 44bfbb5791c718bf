# SPDX-License-Identifier: Apache-2.0
"""The entry point that `import torch` calls, so that torch.device("anyplace") is there without a second import. Set
TORCH_DEVICE_BACKEND_AUTOLOAD=0 to do without. What fails here is a warning: torch itself must stay usable."""
import warnings


def autoload():
    try:
        import torch_anyplace  # noqa: F401
    except ImportError as reason:
        warnings.warn(f"the device type anyplace isn't available: {reason}", stacklevel=2)
