# SPDX-License-Identifier: Apache-2.0
"""python -m anyplace: the command anyplace."""

from ._command import main

main()
