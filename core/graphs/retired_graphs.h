// SPDX-License-Identifier: Apache-2.0
//
// What launches of graphs may still use though nobody can launch it any more: executable graphs whose owner let them
// go, and what updates replaced. It ends once those launches are done, which the polling thread notices, or whoever
// needs the memory, or at exit.
#pragma once

#include <memory>

#include "runtime/service.h"
#include "streams/event_state.h"

namespace anyplace::detail {

struct GraphContent;
struct GraphExecState;

/// Made beforehand, since destructors hand it over.
struct RetiredWork {
  DeviceState* device = nullptr;
  std::shared_ptr<const GraphContent> content;
  std::shared_ptr<const void> kept;  ///< what has or had that content
  std::shared_ptr<EventState> done;  ///< behind the last launch; null: there was none
  /// The stream of the last launch where `done` couldn't be recorded behind it: it has to be idle instead.
  Pin<StreamState> last;
  /// A backend calls functions of the content.
  bool backend_calls_host = false;
  ServiceRoom room{"Graph::instantiate"};  ///< its end may be handed over to the service thread
  /// Guarded by the list's mutex.
  std::shared_ptr<RetiredWork> next;
};

/// Ends it once its launches are done. Never waits. Nobody else has it, and no lock is held: it may call the user's
/// code.
void retire(std::shared_ptr<RetiredWork> work) noexcept;
/// The same for an executable graph.
void retire(std::shared_ptr<GraphExecState> exec) noexcept;

/// Ends what is retired and whose launches are done. With `wait`, waits for the launches of what uses the device. False
/// if nothing was ended. Holds no lock.
bool end_retired_graphs_of(const DeviceState& device, bool wait) noexcept;
/// At exit, when the devices were waited for and the core's threads have stopped: ends those whose launches are done.
void end_retired_graphs() noexcept;

}  // namespace anyplace::detail
