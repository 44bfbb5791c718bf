// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs whose owner let them go: they end once their launches are done, which the polling thread notices,
// or at exit.
#pragma once

#include <memory>

#include "graphs/graph_exec.h"

namespace anyplace::detail {

/// Ends it once its launches are done. Never waits.
void retire(std::shared_ptr<GraphExecState> exec) noexcept;
/// At exit, when the devices were waited for and the core's threads have stopped: ends those whose launches are done.
void end_retired_graphs() noexcept;

}  // namespace anyplace::detail
