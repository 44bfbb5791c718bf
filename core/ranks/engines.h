// SPDX-License-Identifier: Apache-2.0
// Chooses the engine of a device, and makes groups with it.
#pragma once

#include <memory>
#include <string>

#include "anyplace/communicator.h"
#include "ranks/bootstrap.h"
#include "ranks/engine_group.h"

namespace anyplace::detail {

struct MadeGroup {
  std::shared_ptr<EngineGroup> group;
  std::string engine = "none";
};

/// Meets the other ranks and makes their group. Throws as Communicator's constructor.
MadeGroup make_group(DeviceState& device, const BootstrapPlan& plan, const CommunicatorOptions& options,
                     const char* operation);

}  // namespace anyplace::detail
