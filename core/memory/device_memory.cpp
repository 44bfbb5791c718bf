// SPDX-License-Identifier: Apache-2.0
//
// Device memory directly from the backend, without a cache. It is allocated and freed in the stream's order if the
// backend can do that. out_of_memory is thrown only after all deferred frees have been waited for.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "memory/allocator/device_allocator.h"
#include "memory/deferred_free.h"
#include "memory/memory_state.h"
#include "plugins/device_properties.h"

namespace anyplace::detail {

namespace {

/// How often an allocation waits for frees before it fails. One wait may not suffice, because other threads may take
/// what became free.
constexpr int max_attempts = 4;

std::optional<std::uint64_t> known(std::uint64_t bytes) {
  return bytes == ANYPLACE_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(bytes);
}

anyplace_memory_info memory_info_of(DeviceState& device) noexcept {
  anyplace_memory_info info{};
  info.struct_size = sizeof(info);
  info.free_bytes = ANYPLACE_UNKNOWN;
  info.total_bytes = ANYPLACE_UNKNOWN;
  if (device.table->device_memory(device.self, device.index, &info) != ANYPLACE_STATUS_OK) {
    static_cast<void>(take_message());  // the Error is about the allocation, and without figures it only says less
    info.free_bytes = ANYPLACE_UNKNOWN;
    info.total_bytes = ANYPLACE_UNKNOWN;
  }
  return info;
}

/// Whether to allocate in the stream's order. It isn't done on a held stream: the backend doesn't know that stream's
/// order yet, so the memory must be usable by all streams at once.
bool in_stream_order(StreamState& stream, std::uint32_t kind, const char* operation) {
  return kind == ANYPLACE_MEMORY_DEVICE && !stream.held.load(std::memory_order_acquire) &&
         has_capability(*stream.device, Capability::stream_ordered_memory, operation);
}

anyplace_status try_allocate(StreamState& stream, std::uint32_t kind, std::uint64_t bytes, anyplace_address* address,
                             const char* operation) {
  DeviceState& device = *stream.device;
  if (in_stream_order(stream, kind, operation)) {
    return device.table->memory_allocate_async(device.self, stream.handle, bytes, address);
  }
  return device.table->memory_allocate(device.self, device.index, kind, bytes, address);
}

}  // namespace

Error with_figures(const Error& plain, const MemoryFigures& figures) {
  ErrorDetails details;
  details.code = plain.code();
  details.place = plain.place();
  details.operation = plain.operation();
  details.text = plain.problem();
  details.remedy = plain.remedy();
  details.see = plain.see();
  details.vendor_code = plain.vendor_code();
  details.vendor_name = plain.vendor_name();
  details.vendor_text = plain.vendor_text();
  details.memory = figures;
  return Error(std::move(details));
}

Error out_of_memory_error(DeviceState& device, MemoryFigures figures, const char* text, const char* operation) {
  if (text != nullptr) leave_message(0, nullptr, text);
  const Error plain = make_error(ANYPLACE_STATUS_OUT_OF_MEMORY, device, operation);
  const anyplace_memory_info info = memory_info_of(device);
  figures.free = known(info.free_bytes);
  const std::optional<std::uint64_t> total = known(info.total_bytes);
  if (total && *total < figures.limit.value_or(UINT64_MAX)) figures.limit = total;
  return with_figures(plain, figures);
}

anyplace_address allocate_device_memory(StreamState& stream, std::uint32_t kind, std::uint64_t bytes,
                                        const char* operation) {
  DeviceState& device = *stream.device;
  const auto refuse = [&](const char* text) {
    MemoryFigures figures;
    figures.requested = bytes;
    figures.in_use = device.bytes_in_use.load(std::memory_order_relaxed);
    throw out_of_memory_error(device, figures, text, operation);
  };
  if (bytes > most_bytes) refuse(more_than_most_bytes);
  reap_deferred_frees(device);
  anyplace_address address = 0;
  anyplace_status status = try_allocate(stream, kind, bytes, &address, operation);
  for (int attempt = 1; status == ANYPLACE_STATUS_OUT_OF_MEMORY && attempt < max_attempts; ++attempt) {
    const std::optional<std::uint64_t> limit = known(memory_info_of(device).total_bytes);
    if (bytes > limit.value_or(most_bytes) || !wait_for_let_go(device)) break;
    static_cast<void>(take_message());
    status = try_allocate(stream, kind, bytes, &address, operation);
  }
  if (status == ANYPLACE_STATUS_OUT_OF_MEMORY) refuse(nullptr);
  check(status, device, operation);
  if (address == 0) {
    fail(ErrorCode::backend_failed, device.place, operation,
         fmt::format("the backend said it allocated {} bytes, and gave address 0", bytes));
  }
  device.bytes_in_use.fetch_add(bytes, std::memory_order_relaxed);
  return address;
}

namespace {

/// Asks the backend to free the memory in the order of the buffer's stream. False if it turns out to lack that, which a
/// vendor's library that claims to have it may do.
bool free_in_order(BufferState& buffer, const char* operation) noexcept {
  DeviceState& device = *buffer.device;
  const anyplace_status status = device.table->memory_free_async(device.self, buffer.home->handle, buffer.allocation());
  if (status == ANYPLACE_STATUS_UNSUPPORTED) {
    static_cast<void>(take_message());
    std::get<RawMemory>(buffer.origin).ordered = false;
    return false;
  }
  check_quietly(status, device, operation);  // if the status is DEVICE_LOST, this marks the device lost
  if (status == ANYPLACE_STATUS_DEVICE_LOST) return false;
  note_ordered_free(device, buffer.home->id);
  return true;
}

}  // namespace

void RawMemory::free(std::unique_ptr<BufferState> buffer) noexcept {
  DeviceState& device = *buffer->device;
  device.bytes_in_use.fetch_sub(buffer->allocated(), std::memory_order_relaxed);
  const bool one_stream = is_freed_in_order(buffer->origin) && buffer->home && buffer->uses.empty();
  const bool direct =
      one_stream && !buffer->home->held.load(std::memory_order_acquire) && !device.lost.load(std::memory_order_relaxed);
  if (!direct || !free_in_order(*buffer, "~Buffer")) free_later(std::move(buffer));
}

void RawMemory::give_back(std::unique_ptr<BufferState> buffer) noexcept {
  constexpr const char* operation = "Buffer: freeing memory";
  DeviceState& device = *buffer->device;
  // A free in stream order doesn't synchronise, unlike memory_free. The buffer's stream has no work left that it would
  // have to follow.
  const bool in_order =
      is_freed_in_order(buffer->origin) && buffer->home && !device.lost.load(std::memory_order_relaxed);
  if (in_order && free_in_order(*buffer, operation)) return;
  const anyplace_status status =
      device.table->memory_free(device.self, device.index, buffer->kind, buffer->allocation());
  check_given_back(status, device, operation);
}

}  // namespace anyplace::detail
