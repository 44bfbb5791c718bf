// SPDX-License-Identifier: Apache-2.0
#include "graphs/live_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

template <class State>
struct Live {
  std::mutex mutex;  // guards what follows; a leaf
  std::vector<std::weak_ptr<State>> all;
  std::size_t sweep_at = 32;  ///< when the list has this many elements, expired ones are removed

  void add(const std::shared_ptr<State>& state) {
    const std::lock_guard lock(mutex);
    if (all.size() >= sweep_at) {
      std::erase_if(all, [](const std::weak_ptr<State>& one) { return one.expired(); });
      sweep_at = std::max<std::size_t>(32, all.size() * 2);
    }
    all.push_back(state);
  }
  /// The existing states, which stay alive as long as the result.
  std::vector<std::shared_ptr<State>> there() {
    std::vector<std::shared_ptr<State>> found;
    const std::lock_guard lock(mutex);
    found.reserve(all.size());
    for (const std::weak_ptr<State>& one : all) {
      if (std::shared_ptr<State> state = one.lock()) found.push_back(std::move(state));
    }
    return found;
  }
};
NoDestructor<Live<GraphState>> live_graphs;
NoDestructor<Live<GraphExecState>> live_execs;

/// Releases all that the graph has. The objects are declared before the lock and so destroyed after it, because that
/// may call the user's code.
void end(GraphState& graph, const DeviceState& device) {
  std::vector<HelperStream> builders;
  GraphContent content;
  const std::lock_guard lock(graph.mutex);
  if (!uses(graph.content(), device)) return;
  graph.ended.store(true, std::memory_order_release);
  for (HelperStream& builder : graph.builders) detach_builder(*builder);
  builders.swap(graph.builders);
  content.list = std::exchange(graph.nodes->list, {});
  content.buffers.swap(graph.buffers);
  content.pools.swap(graph.pools);
}

void end(GraphExecState& exec, const DeviceState& device) {
  auto nothing = std::make_shared<GraphContent>();
  std::shared_ptr<NativeGraph> native;
  std::unique_ptr<Replay> replay;
  std::shared_ptr<const GraphContent> content;
  std::shared_ptr<EventState> done;
  Pin<StreamState> last;
  const std::lock_guard lock(exec.mutex);
  if (!uses(*exec.content, device)) return;
  nothing->device = exec.device;
  exec.ended = true;
  content = std::exchange(exec.content, std::move(nothing));
  native.swap(exec.native);
  replay.swap(exec.replay);
  done.swap(exec.done);
  last = std::move(exec.last);
  exec.unmarked = false;
}

}  // namespace

void note_live(const std::shared_ptr<GraphState>& graph) { live_graphs.value.add(graph); }
void note_live(const std::shared_ptr<GraphExecState>& exec) { live_execs.value.add(exec); }

void end_graphs_of(const DeviceState& device) {
  static_cast<void>(end_retired_graphs_of(device, true));
  for (const std::shared_ptr<GraphExecState>& exec : live_execs.value.there()) end(*exec, device);
  for (const std::shared_ptr<GraphState>& graph : live_graphs.value.there()) end(*graph, device);
}

void require_not_ended(bool ended, const DeviceState& device, const char* noun, const char* operation) {
  if (!ended) return;
  fail(ErrorCode::invalid_handle, device.place, operation,
       fmt::format("the {} ended when a device that it used was reset\nmake it again, of what was made since\nsee "
                   "docs/graphs.md",
                   noun));
}

}  // namespace anyplace::detail
