// SPDX-License-Identifier: Apache-2.0
// A communicator of one rank without an engine: what it sends is what it gets, by copies of the stream's.
#pragma once

#include <memory>

#include "ranks/engine_group.h"

namespace anyplace::detail {

std::shared_ptr<EngineGroup> make_lone_group(DeviceState& device, std::chrono::nanoseconds timeout);

}  // namespace anyplace::detail
