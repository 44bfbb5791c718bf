// SPDX-License-Identifier: Apache-2.0
// BufferView::export_handle, Buffer::import and ipc_collect, and how shared and imported buffers end.
#include "memory/buffer_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "anyplace/ipc.h"
#include "anyplace/stream.h"
#include "memory/deferred_free.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "streams/event_sharing.h"

namespace anyplace {
namespace detail {

/// Memory of another process that is open in this one.
struct OpenMemory {
  DeviceState* device;
  anyplace_address address;
  int buffers;  ///< how many buffers lie in it
};

namespace {

constexpr const char* freeing = "Buffer: freeing memory";

/// Guards the kept buffers, and the member `exported` of buffers while it is set. The backend's memory_export is called
/// under it.
std::mutex sharing_mutex;
// The buffers that were freed while other processes had them open. Guarded by sharing_mutex.
BufferState* kept = nullptr;
std::atomic<std::size_t> kept_count{0};  // how many those are
// Calls that have taken kept buffers out in order to look at them. Guarded by sharing_mutex.
int collecting = 0;
std::condition_variable collected;  // notified when `collecting` falls
/// How many such calls this thread is in. There may be several, because a free may run an application's allocator,
/// which may make another such call.
thread_local constinit int collecting_here = 0;

/// Guards `open_memory`. The backend's memory_import and memory_import_end are called under it, so that memory isn't
/// opened while it is being closed.
std::mutex open_mutex;
using OpenKey = std::pair<const DeviceState*, std::string>;
std::map<OpenKey, OpenMemory>& open_memory() {
  static auto* const all = new std::map<OpenKey, OpenMemory>;
  return *all;
}

// ---- Memory of this process ----------------------------------------------------------------------------------------

/// Exports the buffer's memory unless that was done, and returns what the export needs. The buffer is pinned.
const BufferExport& shared(BufferState& buffer, const char* operation) {
  DeviceState& device = *buffer.device;
  const std::lock_guard lock(sharing_mutex);
  if (buffer.exported != nullptr) return *buffer.exported;
  std::unique_ptr<BufferExport, EndBufferExport> made(new BufferExport(device.place, operation));
  made->handle.struct_size = sizeof(made->handle);
  const anyplace_status status =
      device.table->memory_export(device.self, device.index, buffer.allocation(), buffer.allocated(), &made->handle);
  if (status == ANYPLACE_STATUS_UNSUPPORTED) {
    const std::string why = take_message().text;
    fail(ErrorCode::unsupported, device.place, operation,
         fmt::format(
             "the buffer's memory can't be shared as it is{}{}\nmake the buffer with BufferOptions{{.shareable = "
             "true}}",
             why.empty() ? "" : ": ", why));
  }
  check(status, device, operation);
  buffer.exported = std::move(made);
  return *buffer.exported;
}

/// Ends the export of a buffer whose memory no other process has open.
void end_export(BufferState& buffer) noexcept {
  DeviceState& device = *buffer.device;
  if (device.table->memory_export_end != nullptr) {
    check_quietly(
        device.table->memory_export_end(device.self, device.index, buffer.allocation(), &buffer.exported->handle),
        device, freeing);
  }
  buffer.exported.reset();
}

}  // namespace

void EndBufferExport::operator()(BufferExport* exported) const noexcept { delete exported; }

void keep_while_shared(std::unique_ptr<BufferState>& buffer) noexcept {
  if (buffer->exported->share.close()) return end_export(*buffer);
  const std::lock_guard lock(sharing_mutex);
  buffer->next = kept;
  kept = buffer.release();
  kept_count.fetch_add(1, std::memory_order_relaxed);
}

bool keeps_shared_buffers(const DeviceState&) noexcept { return kept_count.load(std::memory_order_relaxed) != 0; }

std::uint64_t collect_shared_buffers(DeviceState& device, Others others) noexcept {
  const bool waits = others == Others::waited_for && collecting_here == 0;
  if ((!waits && !keeps_shared_buffers(device)) || !backends_callable()) return 0;
  BufferState* all = nullptr;
  {
    std::unique_lock lock(sharing_mutex);
    if (waits) collected.wait(lock, [] { return collecting == 0; });
    all = std::exchange(kept, nullptr);
    if (all == nullptr) return 0;
    ++collecting;
  }
  ++collecting_here;
  std::uint64_t still_kept = 0;
  while (all != nullptr) {
    std::unique_ptr<BufferState> buffer(all);
    all = std::exchange(all->next, nullptr);
    const bool wanted = buffer->device == &device;
    const std::uint64_t bytes = buffer->bytes;
    kept_count.fetch_sub(1, std::memory_order_relaxed);
    keep_while_shared(buffer);
    if (buffer != nullptr) {
      free_memory_of(std::move(buffer));
    } else if (wanted) {
      still_kept += bytes;
    }
  }
  --collecting_here;
  {
    const std::lock_guard lock(sharing_mutex);
    --collecting;
  }
  collected.notify_all();
  return still_kept;
}

// ---- Memory of other processes -------------------------------------------------------------------------------------
namespace {

/// Opens the memory, or returns the one that is open already.
OpenMemory& open(DeviceState& device, const IpcContent& content, const char* operation) {
  OpenKey key(&device, std::string(reinterpret_cast<const char*>(content.backend.bytes), content.backend.byte_count));
  const std::uint64_t process = content.share.table.owner.packed();
  key.second.append(reinterpret_cast<const char*>(&process), sizeof(process));
  const std::lock_guard lock(open_mutex);
  const auto [entry, is_new] = open_memory().try_emplace(std::move(key), OpenMemory{&device, 0, 0});
  OpenMemory& memory = entry->second;
  if (is_new) {
    try {
      check(device.table->memory_import(device.self, device.index, &content.backend, &memory.address), device,
            operation);
      if (memory.address == 0) {
        fail(ErrorCode::backend_failed, device.place, operation, "the backend opened memory and gave address 0");
      }
    } catch (...) {
      open_memory().erase(entry);
      throw;
    }
  }
  ++memory.buffers;
  return memory;
}

void close(OpenMemory& memory) noexcept {
  const std::lock_guard lock(open_mutex);
  if (--memory.buffers != 0) return;
  DeviceState& device = *memory.device;
  const anyplace_status status = device.table->memory_import_end(device.self, device.index, memory.address);
  check_given_back(status, device, freeing);
  std::erase_if(open_memory(), [&](const auto& each) { return &each.second == &memory; });
}

// How many imported buffers were freed and may still be used by work.
std::atomic<std::size_t> ending{0};
std::atomic<bool> watching{false};     // whether the polling thread looks after them
std::atomic<bool> look_is_due{false};  // whether the service thread was asked to look

/// On the service thread, because closing memory may take the vendor a while.
void look_for_ends() noexcept {
  look_is_due.store(false, std::memory_order_relaxed);
  if (!backends_callable()) return;
  try {
    for (Backend* const backend : accepted_backends()) {
      for (const std::unique_ptr<DeviceState>& device : backend->devices) reap_without_waiting(*device);
    }
  } catch (const std::bad_alloc&) {  // the next look tries again
  }
}

/// A step of the polling thread. The other process may be waiting for its memory, while this one may call nothing of
/// the library for a long time.
bool watch_ends() noexcept {
  if (ending.load(std::memory_order_seq_cst) == 0) {
    watching.store(false, std::memory_order_seq_cst);
    // A buffer that was freed just now may have found the step still running and not started one.
    if (ending.load(std::memory_order_seq_cst) == 0 || watching.exchange(true)) return true;
  }
  if (!look_is_due.exchange(true, std::memory_order_relaxed)) post_to_service([] { look_for_ends(); });
  return false;
}

BufferView import_on(const StreamView& view, std::span<const std::byte> handle, const char* operation) {
  Pin<StreamState> stream = streams().pin(view.id(), operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  require_capability(device, Capability::interprocess_memory, operation);
  const IpcContent content = read_handle(device, IpcKind::buffer, handle, operation);
  auto state = std::make_unique<BufferState>();
  auto import = std::make_shared<BufferImport>(operation);
  import->use = SharedUse(content.share, "the buffer", device.place, operation);
  OpenMemory& memory = open(device, content, operation);
  import->open = &memory;
  state->origin = ImportedMemory{std::move(import)};
  state->device = &device;
  state->address = memory.address + content.offset;
  state->bytes = content.bytes;
  state->home = std::move(stream);
  try {
    return BufferView(open_buffer(std::move(state), operation), 0, content.bytes);
  } catch (...) {
    close(memory);
    throw;
  }
}

}  // namespace

/// Leaves the memory open until the work that uses it is done, and has the polling thread look for that.
void ImportedMemory::free(std::unique_ptr<BufferState> buffer) noexcept {
  ending.fetch_add(1, std::memory_order_seq_cst);
  free_later(std::move(buffer));
  if (ending.load(std::memory_order_seq_cst) == 0 || watching.exchange(true)) return;
  poll_in_service([] { return watch_ends(); });
}

/// Closes the memory, since no work uses it any more. The other process may free it only after this.
void ImportedMemory::give_back(std::unique_ptr<BufferState> buffer) noexcept {
  close(*std::get<ImportedMemory>(buffer->origin).import->open);
  buffer.reset();  // this also withdraws this process's mark on the memory (SharedUse)
  ending.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace detail

std::vector<std::byte> BufferView::export_handle() const {
  constexpr const char* operation = "BufferView::export_handle";
  detail::enter(operation);
  const detail::PinnedRange range = detail::pin_range(*this, operation);
  const auto refuse = [&](const std::string& text) {
    detail::fail(ErrorCode::invalid_argument, range.device != nullptr ? range.device->place : std::string(), operation,
                 text);
  };
  if (range.bytes == 0) refuse("there is nothing to share in 0 bytes");
  detail::BufferState& buffer = *range.buffer;
  detail::DeviceState& device = *range.device;
  detail::require_usable(device, operation);
  detail::require_capability(device, Capability::interprocess_memory, operation);
  if (detail::is_from<detail::ImportedMemory>(buffer.origin)) {
    refuse("the memory is another process's\nonly the process that made it can export it; pass on its handle");
  }
  if (detail::is_from<detail::WrappedMemory>(buffer.origin)) {
    refuse("the memory is somebody else's, who may free it at any time\nexport a buffer that owns it");
  }
  if (detail::is_from<detail::RegionMemory>(buffer.origin)) {
    refuse(
        "the memory was allocated inside a capture, and is the graph's\nexport a buffer that was made outside, with "
        "BufferOptions::shareable\nsee docs/ipc.md");
  }
  if (buffer.kind != ANYPLACE_MEMORY_DEVICE) {
    detail::fail(ErrorCode::unsupported, device.place, operation,
                 "managed memory can't be shared with other processes");
  }
  static_cast<void>(detail::collect_shared_buffers(device));
  const detail::BufferExport& exported = detail::shared(buffer, operation);
  detail::IpcContent content;
  content.share = exported.share.address();
  content.backend = exported.handle;
  content.offset = exported.handle.offset + (range.address - buffer.allocation());
  content.bytes = range.bytes;
  return detail::write_handle(device, detail::IpcKind::buffer, content, operation);
}

Buffer Buffer::import(const Device& device, std::span<const std::byte> handle) {
  return import(current_stream(device), handle);
}

Buffer Buffer::import(const StreamView& stream, std::span<const std::byte> handle) {
  constexpr const char* operation = "Buffer::import";
  detail::enter(operation);
  Buffer buffer;
  static_cast<BufferView&>(buffer) = detail::import_on(stream, handle, operation);
  return buffer;
}

std::uint64_t ipc_collect(const Device& device) {
  constexpr const char* operation = "ipc_collect";
  detail::enter(operation);
  detail::DeviceState& state = *device.state();
  detail::collect_shared_events();
  // The service thread and the polling thread may just be looking at some of these buffers, so it waits for them.
  if (detail::ending.load(std::memory_order_seq_cst) != 0) detail::reap_surely_without_waiting(state);
  return detail::collect_shared_buffers(state, detail::Others::waited_for);
}

}  // namespace anyplace
