// SPDX-License-Identifier: Apache-2.0
#include "streams/work.h"

#include <utility>

#include "streams/capture.h"

namespace anyplace::detail {

namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

anyplace_status submit_copy_work(const CopyWork& work, const StreamState& stream) {
  const anyplace_backend_table& table = *stream.device->table;
  void* const self = stream.device->self;
  const anyplace_copy_2d& copy = work.copy;
  if (work.is_peer()) {
    return table.memory_copy_peer(self, stream.handle, work.destination_device, copy.destination, work.source_device,
                                  copy.source, copy.width);
  }
  if (copy.rows == 1)
    return table.memory_copy(self, stream.handle, copy.destination, copy.source, copy.width, copy.kind);
  return table.memory_copy_2d(self, stream.handle, &copy);
}

}  // namespace

std::uint32_t kind_of(const Work& work) noexcept {
  constexpr std::uint32_t kinds[] = {
      ANYPLACE_GRAPH_NODE_EMPTY,      ANYPLACE_GRAPH_NODE_KERNEL,        ANYPLACE_GRAPH_NODE_COPY,
      ANYPLACE_GRAPH_NODE_MEMSET,     ANYPLACE_GRAPH_NODE_HOST_FUNCTION, ANYPLACE_GRAPH_NODE_EVENT_RECORD,
      ANYPLACE_GRAPH_NODE_EVENT_WAIT, ANYPLACE_GRAPH_NODE_CHILD_GRAPH,   ANYPLACE_GRAPH_NODE_STAGED_COPY,
  };
  static_assert(std::size(kinds) == std::variant_size_v<Work>);
  return kinds[work.index()];
}

anyplace_status submit_to_backend(const Work& work, const StreamState& stream) {
  const anyplace_backend_table& table = *stream.device->table;
  void* const self = stream.device->self;
  return std::visit(Overloaded{
                        [&](const LaunchWork& launch) {
                          return table.kernel_launch(self, stream.handle, launch.kernel, launch.launch.get());
                        },
                        [&](const CopyWork& copy) { return submit_copy_work(copy, stream); },
                        [&](const FillWork& fill) {
                          return table.memory_set(self, stream.handle, fill.address, fill.value, fill.width,
                                                  fill.count);
                        },
                        [&](const HostWork& host) { return submit_host_work(host, stream); },
                        [](const auto&) { return static_cast<anyplace_status>(ANYPLACE_STATUS_OK); },
                    },
                    work);
}

void submit_work(const Work& work, StreamState& stream, const char* operation) {
  if (const auto* recorded = std::get_if<RecordWork>(&work)) return record(**recorded->event, stream, operation);
  if (const auto* waited = std::get_if<WaitWork>(&work)) return wait(stream, **waited->event, operation);
  if (const auto* staged = std::get_if<StagedWork>(&work)) {
    const StagedWork::Copy& what = *staged->what;
    return what.submit(stream, *what.destination, *what.source, what.copy, operation);
  }
  submit(
      stream, operation, [&] { return submit_to_backend(work, stream); }, [&] { return work; });
}

void divert(StreamState& stream, Work work, const char* operation) {
  if (capture_work(stream, work, operation)) return;
  DeviceState& device = *stream.device;
  if (stream.held.load(std::memory_order_acquire)) {
    // The command names the stream without a pin: the hold has one.
    const auto kept = std::make_shared<const Work>(std::move(work));
    if (hold_back(stream, [kept, &stream] { return submit_to_backend(*kept, stream); })) return;
    check(submit_to_backend(*kept, stream), device, operation);
    return;
  }
  check(submit_to_backend(work, stream), device, operation);
}

}  // namespace anyplace::detail
