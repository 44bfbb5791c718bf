// SPDX-License-Identifier: Apache-2.0
//
// Retired graphs: objects that nobody can launch any more and that pending launches may still use. They are executable
// graphs whose owner destroyed them, and what updates replaced. They end once those launches are done: the polling
// thread notices that, in virtual time a host function; or a thread that needs the memory asks, or the exit does.
#pragma once

#include <memory>

#include "runtime/service.h"
#include "streams/event_state.h"

namespace anyplace::detail {

struct GraphContent;
struct GraphExecState;

/// A retired object. It is allocated beforehand, because destructors retire.
struct RetiredWork {
  DeviceState* device = nullptr;
  std::shared_ptr<const GraphContent> content;
  std::shared_ptr<const void> kept;  ///< the object that has or had that content
  std::shared_ptr<EventState> done;  ///< recorded behind the last launch; null: nothing was launched
  /// The stream of the last launch, if `done` couldn't be recorded behind that. It has to be idle instead.
  Pin<StreamState> last;
  /// Whether a backend calls functions of the content.
  bool backend_calls_host = false;
  ServiceRoom room{"Graph::instantiate"};  ///< its end may be handed over to the service thread
  /// The next element of the list. Guarded by the list's mutex.
  std::shared_ptr<RetiredWork> next;
};

/// Ends the work once its launches are done, and never waits for that. The caller gives it away and holds no lock,
/// because ending it may call the user's code.
void retire(std::shared_ptr<RetiredWork> work) noexcept;
/// Retires an executable graph.
void retire(std::shared_ptr<GraphExecState> exec) noexcept;

/// Ends retired work whose launches are done. With `wait`, first waits for the launches of work that uses the device.
/// False if nothing was ended. The caller holds no lock.
bool end_retired_graphs_of(const DeviceState& device, bool wait) noexcept;
/// Ends the work whose launches are done. Called at exit, when the devices were waited for and the core's threads have
/// stopped.
void end_retired_graphs() noexcept;

}  // namespace anyplace::detail
