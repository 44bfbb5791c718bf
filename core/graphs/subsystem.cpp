// SPDX-License-Identifier: Apache-2.0
#include "graphs/subsystem.h"

#include "graphs/retired_graphs.h"

namespace anyplace::detail {

namespace {

bool end_let_go(DeviceState& device, bool wait) noexcept { return end_retired_graphs_of(device, wait); }

}  // namespace

constinit const Subsystem graphs_subsystem{.end_let_go = end_let_go, .end_unused = end_retired_graphs};

}  // namespace anyplace::detail
