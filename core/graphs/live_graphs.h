// SPDX-License-Identifier: Apache-2.0
//
// The list of existing graphs and executable graphs. A reset of their device uses it to end them before their owners
// do.
#pragma once

#include <memory>

#include "graphs/graph_exec.h"
#include "graphs/graph_state.h"

namespace anyplace::detail {

/// Adds the graph to the list, so that end_graphs_of() finds it. Throws bad_alloc.
void note_live(const std::shared_ptr<GraphState>& graph);
void note_live(const std::shared_ptr<GraphExecState>& exec);

/// Ends all graphs that use the device: destroys the backend's graphs, and releases kernels, buffers and streams. The
/// device's work is done. Later calls with the graphs throw invalid_handle. Throws bad_alloc, and may then have ended
/// some.
void end_graphs_of(const DeviceState& device);

/// Throws invalid_handle if `ended`. `noun` names the kind of object in the error.
void require_not_ended(bool ended, const DeviceState& device, const char* noun, const char* operation);

}  // namespace anyplace::detail
