// SPDX-License-Identifier: Apache-2.0
// EventView::export_handle and Event::import, and how the events that they share end.
#include "streams/event_sharing.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <utility>

#include "anyplace/event.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "runtime/service.h"

namespace anyplace {
namespace detail {
namespace {

/// Guards `kept`, and the member `sharing` of events while it is set. The backend's event_export is called under it.
std::mutex sharing_mutex;
/// Events that were destroyed here while another process had them open.
EventSharing* kept = nullptr;

/// Ends an event that was destroyed here, or keeps it while another process has it. Not called inside callbacks.
void end(std::unique_ptr<EventSharing> sharing) noexcept {
  if (!backends_callable()) return;
  if (sharing->share && !sharing->share->close()) {
    const std::lock_guard lock(sharing_mutex);
    sharing->next = kept;
    kept = sharing.release();
    return;
  }
  destroy_event(*sharing->device, sharing->handle);
}

}  // namespace

void EndEventSharing::operator()(EventSharing* sharing) const noexcept { delete sharing; }

void end_shared_event(EventState& event) noexcept {
  EventSharing* const sharing = event.sharing.release();
  sharing->device = event.device;
  sharing->handle = event.handle;
  if (in_callback()) {
    post_to_service([sharing] { end(std::unique_ptr<EventSharing>(sharing)); });
  } else {
    end(std::unique_ptr<EventSharing>(sharing));
  }
}

void collect_shared_events() noexcept {
  EventSharing* all = nullptr;
  {
    const std::lock_guard lock(sharing_mutex);
    all = std::exchange(kept, nullptr);
  }
  while (all != nullptr) {
    std::unique_ptr<EventSharing> sharing(all);
    all = all->next;
    end(std::move(sharing));
  }
}

namespace {

/// Makes the event's EventSharing if it has none yet.
const EventSharing& shared(EventState& event, const char* operation) {
  DeviceState& device = *event.device;
  const std::lock_guard lock(sharing_mutex);
  if (event.sharing != nullptr) return *event.sharing;
  std::unique_ptr<EventSharing, EndEventSharing> made(new EventSharing);
  made->share.emplace(device.place, operation);
  made->exported.struct_size = sizeof(made->exported);
  check(device.table->event_export(device.self, event.handle, &made->exported), device, operation);
  event.sharing = std::move(made);
  return *event.sharing;
}

}  // namespace
}  // namespace detail

std::vector<std::byte> EventView::export_handle() const {
  constexpr const char* operation = "Event::export_handle";
  detail::enter(operation);
  const detail::Pin<detail::EventState> event = detail::events().pin(id_, operation);
  detail::DeviceState& device = *event->device;
  detail::require_usable(device, operation);
  detail::require_capability(device, Capability::interprocess_events, operation);
  if ((event->flags & ANYPLACE_EVENT_INTERPROCESS) == 0) {
    const bool timing = (event->flags & ANYPLACE_EVENT_TIMING) != 0;
    detail::fail(ErrorCode::invalid_argument, device.place, operation,
                 fmt::format("the event was made for this process alone{}\nmake it with EventOptions{{.interprocess = "
                             "true}}",
                             timing ? ", with timing, which an event of several processes can't have" : ""));
  }
  detail::collect_shared_events();
  const detail::EventSharing& sharing = detail::shared(*event, operation);
  if (!sharing.share) {
    detail::fail(ErrorCode::invalid_argument, device.place, operation,
                 "the event is another process's\nonly the process that made it can export it; pass on its handle");
  }
  detail::IpcContent content;
  content.share = sharing.share->address();
  content.backend = sharing.exported;
  return detail::write_handle(device, detail::IpcKind::event, content, operation);
}

Event Event::import(const Device& device, std::span<const std::byte> handle) {
  constexpr const char* operation = "Event::import";
  detail::enter(operation);
  detail::DeviceState& state = *device.state();
  detail::require_usable(state, operation);
  detail::require_capability(state, Capability::interprocess_events, operation);
  const detail::IpcContent content = detail::read_handle(state, detail::IpcKind::event, handle, operation);
  std::unique_ptr<detail::EventSharing, detail::EndEventSharing> sharing(new detail::EventSharing);
  sharing->use = detail::SharedUse(content.share, "the event", state.place, operation);
  auto event = std::make_unique<detail::EventState>();
  event->device = &state;
  event->flags = ANYPLACE_EVENT_INTERPROCESS;
  detail::check(state.table->event_import(state.self, state.index, &content.backend, &event->handle), state, operation);
  event->sharing = std::move(sharing);
  event->recorded.store(true, std::memory_order_relaxed);
  Event made;
  made.id_ = event->id = detail::events().reserve(operation);
  detail::events().publish(made.id_, event.release());
  return made;
}

}  // namespace anyplace
