// SPDX-License-Identifier: Apache-2.0
//
// A communicator over an engine that works on the vendor's stream. Its operations are enqueued there, and the polling
// thread watches the pending ones. If the engine reports an error, or one of them takes longer than the timeout, the
// engine's group is aborted, which lets the streams go on.
#pragma once

#include <memory>

#include "ranks/bootstrap.h"
#include "ranks/engine_group.h"
#include "ranks/engine_plugins.h"

namespace anyplace::detail {

/// Meets the other ranks as `plan` says.
std::shared_ptr<EngineGroup> make_stream_group(const Engine& engine, DeviceState& device, const BootstrapPlan& plan,
                                               std::chrono::nanoseconds timeout, const char* operation);

}  // namespace anyplace::detail
