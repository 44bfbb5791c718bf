// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills. Those without a stream are done when they return; Paddle has waited for its own stream before.
//
// Those with one keep CUDA's promise about memory that isn't pinned, which Paddle counts on: its tensors on the CPU are
// freed right after the call. What is copied in was read when the call returns, and what is copied out is there.
#include <cstring>

#include <anyplace/event.h>
#include <anyplace/memory.h>

#include "entries.h"
#include "handles.h"
#include "pinned.h"
#include "places.h"
#include "raw_copy.h"
#include "report.h"

namespace anyplace_paddle {
namespace {

using anyplace::Device;
using anyplace::StreamView;

/// Up to here a copy in is read into pinned memory and the call returns; for more, waiting costs less than the memory.
constexpr std::uint64_t largest_staged_bytes = 1 << 20;

void copy_in_read_at_once(const StreamView& stream, const Device& device, void* destination, const void* source,
                          std::uint64_t bytes) {
  if (is_pinned(device, source, bytes)) return copy_in(stream, device, destination, source, bytes);
  if (bytes <= largest_staged_bytes && device.has(anyplace::Capability::pinned_memory)) {
    const anyplace::HostBuffer staging(device, bytes);  // may go before the copy from it is done
    std::memcpy(staging.data(), source, bytes);
    return copy_in(stream, device, destination, staging.data(), bytes);
  }
  copy_in(stream, device, destination, source, bytes);
  stream.synchronize();
}

C_Status memory_copy_h2d(const C_Device device, void* destination, const void* source, size_t bytes) noexcept {
  return guarded("memory_copy_h2d", device, [&] {
    if (bytes == 0) return;
    const Device& place = device_of(device);
    const StreamView stream = place.per_thread_stream();
    copy_in(stream, place, destination, source, bytes);
    stream.synchronize();
  });
}

C_Status memory_copy_d2h(const C_Device device, void* destination, const void* source, size_t bytes) noexcept {
  return guarded("memory_copy_d2h", device, [&] {
    if (bytes == 0) return;
    const Device& place = device_of(device);
    const StreamView stream = place.per_thread_stream();
    copy_out(stream, place, destination, source, bytes);
    stream.synchronize();
  });
}

C_Status memory_copy_p2p(const C_Device destination_device, const C_Device source_device, void* destination,
                         const void* source, size_t bytes) noexcept {
  return guarded("memory_copy_p2p", destination_device, [&] {
    if (bytes == 0) return;
    const Device& to = device_of(destination_device);
    const StreamView stream = to.per_thread_stream();
    copy_across(stream, to, destination, device_of(source_device), source, bytes);
    stream.synchronize();
  });
}

C_Status memory_copy_d2d(const C_Device device, void* destination, const void* source, size_t bytes) noexcept {
  return memory_copy_p2p(device, device, destination, source, bytes);
}

C_Status async_memory_copy_h2d(const C_Device device, C_Stream stream, void* destination, const void* source,
                               size_t bytes) noexcept {
  return guarded("async_memory_copy_h2d", device, [&] {
    if (bytes == 0) return;
    const Device& place = device_of(device);
    copy_in_read_at_once(stream_of(place, stream), place, destination, source, bytes);
  });
}

C_Status async_memory_copy_d2h(const C_Device device, C_Stream stream, void* destination, const void* source,
                               size_t bytes) noexcept {
  return guarded("async_memory_copy_d2h", device, [&] {
    if (bytes == 0) return;
    const Device& place = device_of(device);
    const StreamView view = stream_of(place, stream);
    copy_out(view, place, destination, source, bytes);
    if (!is_pinned(place, destination, bytes)) view.synchronize();
  });
}

C_Status async_memory_copy_d2d(const C_Device device, C_Stream stream, void* destination, const void* source,
                               size_t bytes) noexcept {
  return guarded("async_memory_copy_d2d", device, [&] {
    if (bytes == 0) return;
    const Device& place = device_of(device);
    copy_across(stream_of(place, stream), place, destination, place, source, bytes);
  });
}

/// Calls `visit` with the device's null stream and with each stream that Paddle has made on it.
template <class Visit>
void for_each_stream(const Device& device, Visit&& visit) {
  visit(device.default_stream());
  streams().for_each([&](const StreamView& stream) {
    if (stream.device() == device) visit(stream);
  });
}

/// The stream is of either device, and Paddle orders it in no way with the other's: what the other one had to do is
/// done before the copy, since it may make what is copied, and what it gets to do later comes after, since Paddle may
/// hand the memory on at once. Giving back memory there, which waits for that device, so waits for the copy, too.
C_Status async_memory_copy_p2p(const C_Device destination_device, const C_Device source_device, C_Stream stream,
                               void* destination, const void* source, size_t bytes) noexcept {
  return guarded("async_memory_copy_p2p", destination_device, [&] {
    if (bytes == 0) return;
    const Device &to = device_of(destination_device), &from = device_of(source_device);
    const StreamView view = stream_of(to, stream);
    const Device& other = view.device() == to ? from : to;
    const bool is_between_two = other != view.device();
    if (is_between_two) for_each_stream(other, [&](const StreamView& before) { view.wait_stream(before); });
    copy_across(view, to, destination, from, source, bytes);
    if (!is_between_two) return;
    const anyplace::Event done = view.record_event();
    for_each_stream(other, [&](const StreamView& after) { after.wait_event(done); });
  });
}

C_Status device_memory_set(const C_Device device, void* address, unsigned char value, size_t bytes) noexcept {
  return guarded("device_memory_set", device, [&] {
    if (bytes == 0) return;
    const Device& place = device_of(device);
    const StreamView stream = place.per_thread_stream();
    fill(stream, place, address, value, bytes);
    stream.synchronize();
  });
}

}  // namespace

void fill_copies(C_DeviceInterface& table) {
  table.memory_copy_h2d = memory_copy_h2d;
  table.memory_copy_d2h = memory_copy_d2h;
  table.memory_copy_d2d = memory_copy_d2d;
  table.memory_copy_p2p = memory_copy_p2p;
  table.async_memory_copy_h2d = async_memory_copy_h2d;
  table.async_memory_copy_d2h = async_memory_copy_d2h;
  table.async_memory_copy_d2d = async_memory_copy_d2d;
  table.async_memory_copy_p2p = async_memory_copy_p2p;
  table.device_memory_set = device_memory_set;
}

}  // namespace anyplace_paddle
