// SPDX-License-Identifier: Apache-2.0
// A communicator of one rank needs no engine: it copies what the rank sends to where the rank receives it, as work of
// the stream.
#pragma once

#include <memory>

#include "ranks/engine_group.h"

namespace anyplace::detail {

std::shared_ptr<EngineGroup> make_lone_group(DeviceState& device, std::chrono::nanoseconds timeout);

}  // namespace anyplace::detail
