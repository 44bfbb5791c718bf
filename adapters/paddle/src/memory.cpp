// SPDX-License-Identifier: Apache-2.0
//
// Allocation. Paddle keeps and divides what it gets itself, so each of its chunks is an allocation of the device's own,
// not of anyplace's caching allocator.
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include <anyplace/allocator.h>
#include <anyplace/error.h>
#include <anyplace/memory.h>
#include <anyplace/stream.h>

#include "entries.h"
#include "pinned.h"
#include "places.h"
#include "report.h"

namespace anyplace_paddle {
namespace {

using anyplace::Device;

/// Allocates with `body`. Where memory ran out the address stays null and the entry succeeds: that is how Paddle's
/// allocator takes it for a shortage, frees what it keeps, tries again, and at last raises its own ResourceExhausted,
/// with the figures of device_memory_stats.
template <class Body>
C_Status allocate(const char* entry, C_Device device, void** address, Body&& body) noexcept {
  *address = nullptr;
  return guarded(entry, device, [&] {
    try {
      *address = body(device_of(device));
    } catch (const anyplace::Error& error) {
      if (error.code() != anyplace::ErrorCode::out_of_memory) throw;
      (void)report_exception(entry, device, Repeated::not_said);
    }
  });
}

/// What memory of a device is allocated and given back in the order of. Paddle's streams know nothing of it, so it is
/// waited for: what they get is theirs to use at once.
const anyplace::Stream& allocation_stream(const Device& device) {
  static std::mutex& mutex = *new std::mutex;  // guards all; both outlive Paddle's calls at exit
  static auto& all = *new std::unordered_map<Device, anyplace::Stream>;
  const std::lock_guard lock(mutex);
  const auto found = all.find(device);
  return found != all.end() ? found->second : all.try_emplace(device, anyplace::Stream(device)).first->second;
}

/// Memory that was given back where nothing may be waited for, inside a callback: it goes at the next call outside.
struct PutOff {
  struct Chunk {
    Device device;
    std::uint64_t address, bytes;
  };
  std::mutex mutex;  ///< guards chunks
  std::vector<Chunk> chunks;
};

PutOff& put_off() {
  static PutOff& list = *new PutOff;  // outlives Paddle's calls at exit
  return list;
}

/// Gives it back when no work uses it any more. Paddle's chunks are used by any stream, and Paddle expects of this what
/// cudaFree does: to wait for them.
void give_back(const Device& device, std::uint64_t address, std::uint64_t bytes) {
  try {
    device.synchronize();
  } catch (const anyplace::Error& error) {
    if (error.code() != anyplace::ErrorCode::not_permitted) throw;
    const std::lock_guard lock(put_off().mutex);
    put_off().chunks.push_back({device, address, bytes});
    return;
  }
  anyplace::raw_allocator(device)->deallocate(allocation_stream(device), address, bytes);
  device.synchronize();  // where the backend doesn't free in a stream's order, this is what the memory goes with
}

void give_back_what_was_put_off() {
  std::vector<PutOff::Chunk> chunks;
  {
    const std::lock_guard lock(put_off().mutex);
    if (put_off().chunks.empty()) return;
    chunks.swap(put_off().chunks);
  }
  for (const auto& chunk : chunks) give_back(chunk.device, chunk.address, chunk.bytes);
}

C_Status device_memory_allocate(const C_Device device, void** address, size_t bytes) noexcept {
  return allocate("device_memory_allocate", device, address, [&](const Device& place) {
    give_back_what_was_put_off();
    const anyplace::StreamView stream = allocation_stream(place);
    const std::uint64_t memory = anyplace::raw_allocator(place)->allocate(stream, bytes);
    stream.synchronize();
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory));
  });
}

C_Status device_memory_deallocate(const C_Device device, void* address, size_t bytes) noexcept {
  return guarded_release("device_memory_deallocate", device, [&] {
    give_back_what_was_put_off();
    if (address != nullptr) give_back(device_of(device), reinterpret_cast<std::uintptr_t>(address), bytes);
  });
}

C_Status host_memory_allocate(const C_Device device, void** address, size_t bytes) noexcept {
  return allocate("host_memory_allocate", device, address,
                  [&](const Device& place) { return allocate_pinned(place, bytes); });
}

C_Status host_memory_deallocate(const C_Device device, void* address, size_t) noexcept {
  return guarded_release("host_memory_deallocate", device, [&] {
    if (address != nullptr) free_pinned(address);
  });
}

/// Managed memory by the host's pointer, which the devices use too.
struct Managed {
  std::mutex mutex;  ///< guards all
  std::unordered_map<void*, anyplace::Buffer> all;
};

Managed& managed() {
  static Managed& table = *new Managed;  // outlives Paddle's calls at exit
  return table;
}

C_Status unified_memory_allocate(const C_Device device, void** address, size_t bytes) noexcept {
  return allocate("unified_memory_allocate", device, address, [&](const Device& place) {
    const anyplace::StreamView stream = allocation_stream(place);
    anyplace::Buffer memory(stream, bytes, {.kind = anyplace::MemoryKind::managed});
    stream.synchronize();
    void* const data = memory ? memory.host_data() : nullptr;
    const std::lock_guard lock(managed().mutex);
    managed().all.insert_or_assign(data, std::move(memory));
    return data;
  });
}

C_Status unified_memory_deallocate(const C_Device device, void* address, size_t) noexcept {
  return guarded_release("unified_memory_deallocate", device, [&] {
    if (address == nullptr) return;
    device_of(device).synchronize();
    std::unique_lock lock(managed().mutex);
    auto node = managed().all.extract(address);
    lock.unlock();  // the memory itself goes outside
    if (node.empty()) throw std::invalid_argument("unified memory is given back that isn't there");
  });
}

}  // namespace

void fill_memory(C_DeviceInterface& table) {
  table.device_memory_allocate = device_memory_allocate;
  table.device_memory_deallocate = device_memory_deallocate;
  table.host_memory_allocate = host_memory_allocate;
  table.host_memory_deallocate = host_memory_deallocate;
  table.unified_memory_allocate = unified_memory_allocate;
  table.unified_memory_deallocate = unified_memory_deallocate;
}

}  // namespace anyplace_paddle
