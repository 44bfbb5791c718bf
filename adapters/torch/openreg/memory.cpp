// SPDX-License-Identifier: Apache-2.0
//
// The runtime's memory. OpenReg's operators are functions of the host that work on device memory in place, between
// orMemoryUnprotect and orMemoryProtect; so "device memory" is managed memory here, which both may use on every device
// that has any.
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <variant>

#include "runtime.h"

namespace openreg_anyplace {
namespace {

struct Allocation {
  orMemoryType type = orMemoryTypeUnmanaged;
  int device = -1;
  std::uintptr_t begin = 0;
  std::size_t size = 0;
  std::variant<std::monostate, anyplace::Buffer, anyplace::HostBuffer> memory = {};
};

/// What is handed out, by address. Never destroyed, as the devices aren't.
struct Book {
  std::shared_mutex lock;
  std::map<std::uintptr_t, Allocation> all;
};

Book& book() {
  static auto& one = *new Book;
  return one;
}

/// What is known of an address: type and device alone, so that the caller needs no lock.
Allocation find(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::shared_lock guard(book().lock);
  auto after = book().all.upper_bound(address);
  if (after == book().all.begin()) return {};
  const Allocation& found = std::prev(after)->second;
  if (address - found.begin >= found.size) return {};
  return {found.type, found.device, found.begin, found.size};
}

orError_t keep(void** pointer, void* address, Allocation allocation) {
  allocation.begin = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard guard(book().lock);
  book().all.emplace(allocation.begin, std::move(allocation));
  *pointer = address;
  return orSuccess;
}

orError_t release(void* pointer, orMemoryType type) {
  if (pointer == nullptr) return orSuccess;
  Allocation taken;
  {
    const std::lock_guard guard(book().lock);
    const auto found = book().all.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (found == book().all.end() || found->second.type != type) return orErrorUnknown;
    taken = std::move(found->second);
    book().all.erase(found);
  }
  // Work of any stream may use it, and OpenReg's users don't say which.
  if (type == orMemoryTypeDevice) device(taken.device).synchronize();
  return orSuccess;
}

bool kind_fits(orMemoryType destination, orMemoryType source, orMemcpyKind kind) {
  const bool to_device = kind == orMemcpyHostToDevice || kind == orMemcpyDeviceToDevice;
  const bool from_device = kind == orMemcpyDeviceToHost || kind == orMemcpyDeviceToDevice;
  return (destination == orMemoryTypeDevice) == to_device && (source == orMemoryTypeDevice) == from_device;
}

orError_t copy(void* destination, const void* source, std::size_t count, orMemcpyKind kind,
               anyplace::StreamView stream) {
  if (destination == nullptr || source == nullptr || count == 0) return orErrorUnknown;
  if (!kind_fits(find(destination).type, find(source).type, kind)) return orErrorUnknown;
  stream.copy(destination, source, count);
  return orSuccess;
}

}  // namespace
}  // namespace openreg_anyplace

using namespace openreg_anyplace;

orError_t orMalloc(void** pointer, std::size_t size) {
  return guarded([&] {
    if (pointer == nullptr || size == 0) return orErrorUnknown;
    const int index = current_device();
    anyplace::Buffer buffer(device(index), size, {.kind = anyplace::MemoryKind::managed});
    void* address = buffer.host_data();
    if (reinterpret_cast<std::uintptr_t>(address) != buffer.address()) {
      throw std::runtime_error("managed memory has one address for the host and another for the device here");
    }
    return keep(pointer, address, {orMemoryTypeDevice, index, 0, size, std::move(buffer)});
  });
}

orError_t orFree(void* pointer) {
  return guarded([&] { return release(pointer, orMemoryTypeDevice); });
}

orError_t orMallocHost(void** pointer, std::size_t size) {
  return guarded([&] {
    if (pointer == nullptr || size == 0) return orErrorUnknown;
    anyplace::HostBuffer buffer(device(current_device()), size);
    void* address = buffer.data();
    return keep(pointer, address, {orMemoryTypeHost, -1, 0, size, std::move(buffer)});
  });
}

orError_t orFreeHost(void* pointer) {
  return guarded([&] { return release(pointer, orMemoryTypeHost); });
}

orError_t orMemcpy(void* destination, const void* source, std::size_t count, orMemcpyKind kind) {
  return guarded([&] {
    const anyplace::StreamView stream = device(current_device()).default_stream();
    const orError_t result = copy(destination, source, count, kind, stream);
    if (result == orSuccess) stream.synchronize();
    return result;
  });
}

orError_t orMemcpyAsync(void* destination, const void* source, std::size_t count, orMemcpyKind kind,
                        orStream_t stream) {
  return guarded(
      [&] { return stream == nullptr ? orErrorUnknown : copy(destination, source, count, kind, view_of(stream)); });
}

orError_t orPointerGetAttributes(orPointerAttributes* attributes, const void* pointer) {
  return guarded([&] {
    if (attributes == nullptr || pointer == nullptr) return orErrorUnknown;
    const Allocation found = find(pointer);
    const bool known = found.type != orMemoryTypeUnmanaged;
    *attributes = {found.type, found.device, known ? reinterpret_cast<void*>(found.begin) : const_cast<void*>(pointer)};
    return orSuccess;
  });
}

orError_t orMemoryUnprotect(void*) { return orSuccess; }

orError_t orMemoryProtect(void*) { return orSuccess; }
