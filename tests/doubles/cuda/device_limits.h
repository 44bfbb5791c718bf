// SPDX-License-Identifier: Apache-2.0
//
// The limits of the double's devices, in one place for what reports and what enforces them.
#ifndef ANYPLACE_TESTS_DOUBLES_CUDA_DEVICE_LIMITS_H
#define ANYPLACE_TESTS_DOUBLES_CUDA_DEVICE_LIMITS_H

#include <cstdint>

namespace anyplace::doubles::cuda {

constexpr int kMaxThreadsPerBlock = 1024;
constexpr int kMaxBlock[3] = {1024, 1024, 64};
constexpr int kMaxGrid[3] = {2147483647, 65535, 65535};
constexpr int kMaxShared = 48 * 1024;
constexpr int kMaxSharedOptIn = 227 * 1024;
constexpr int kMaxPitch = 2147483647;
constexpr uint64_t kGranularity = uint64_t{2} << 20U;  // of virtual memory

}  // namespace anyplace::doubles::cuda

#endif  // ANYPLACE_TESTS_DOUBLES_CUDA_DEVICE_LIMITS_H
