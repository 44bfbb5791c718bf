// SPDX-License-Identifier: Apache-2.0
//
// The graphs and executable graphs that there are, for what ends them before their owners do: their device is reset.
#pragma once

#include <memory>

#include "graphs/graph_exec.h"
#include "graphs/graph_state.h"

namespace anyplace::detail {

/// From now on end_graphs_of() knows of it. Throws bad_alloc.
void note_live(const std::shared_ptr<GraphState>& graph);
void note_live(const std::shared_ptr<GraphExecState>& exec);

/// Ends all that use the device: the backend's graphs are destroyed, kernels, buffers and streams let go of. The
/// device's work is done. Later calls with them throw invalid_handle. Throws bad_alloc, and may then have ended some.
void end_graphs_of(const DeviceState& device);

/// Throws invalid_handle if `ended`. `noun` says what it is.
void require_not_ended(bool ended, const DeviceState& device, const char* noun, const char* operation);

}  // namespace anyplace::detail
