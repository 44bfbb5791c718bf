// SPDX-License-Identifier: Apache-2.0
//
// A communicator over NCCL or RCCL: its operations are submitted to the vendor's stream, and the polling thread watches
// what is pending: an error that the engine reports, and the time that it takes. Then the engine's communicator is
// aborted, which lets the streams go on.
#pragma once

#include <memory>

#include "ranks/bootstrap.h"
#include "ranks/engine.h"
#include "ranks/nccl_library.h"

namespace anyplace::detail {

/// `engine` is one of nccl_flavors, for the device's backend. Meets the other ranks as `plan` says.
std::shared_ptr<EngineGroup> make_nccl_group(const char* engine, DeviceState& device, const BootstrapPlan& plan,
                                             std::chrono::nanoseconds timeout, const char* operation);

}  // namespace anyplace::detail
