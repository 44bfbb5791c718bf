// SPDX-License-Identifier: Apache-2.0
#include "kernels/subsystem.h"

#include "kernels/kernel_state.h"

namespace anyplace::detail {
namespace {

void close_fast_path_of(const DeviceState* device) noexcept { kernels().bar(device); }

}  // namespace

constinit const Subsystem kernels_subsystem{.close_fast_path = close_fast_path_of};

}  // namespace anyplace::detail
