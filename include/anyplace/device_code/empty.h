// SPDX-License-Identifier: Apache-2.0
// What a string finds as <cuda_runtime.h>, <device_launch_parameters.h> and their kind: what they have is in the
// dialect already, and a toolkit's headers beside it would declare it twice.
#pragma once
