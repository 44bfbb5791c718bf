// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_and_hip/support.h"

namespace hip_test {
using namespace vendor_test;
}
