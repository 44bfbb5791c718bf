// SPDX-License-Identifier: Apache-2.0
//
// The backend `least_aligned`: cpu_sim, but its device memory is aligned to just what it says, and to no more. That is
// the least that the boundary allows, or what STRESS_ALIGNMENT says. It has no virtual memory, whose pages are larger.
#include <anyplace/backend/abi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

anyplace_backend_table real;
std::uint64_t alignment = 256;
std::mutex mutex;
// Guarded by mutex: what cpu_sim gave, by what was given.
std::map<anyplace_address, anyplace_address>& bases() {
  static auto& map = *new std::map<anyplace_address, anyplace_address>;
  return map;
}

anyplace_status get_properties(void* self, int32_t device, anyplace_device_properties* properties) {
  const anyplace_status status = real.device_properties(self, device, properties);
  if (status != ANYPLACE_STATUS_OK) return status;
  properties->address_alignment = alignment;
  for (const unsigned bit : {ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY, ANYPLACE_CAPABILITY_BIT_STREAM_ORDERED_MEMORY}) {
    properties->capabilities &= ~(std::uint64_t{1} << bit);
  }
  return status;
}

/// An odd multiple of the alignment.
anyplace_status allocate(void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
  if (kind != ANYPLACE_MEMORY_DEVICE) return real.memory_allocate(self, device, kind, bytes, out);
  anyplace_address base = 0;
  const anyplace_status status = real.memory_allocate(self, device, kind, bytes + 2 * alignment, &base);
  if (status != ANYPLACE_STATUS_OK) return status;
  *out = base + (base % (2 * alignment) == 0 ? alignment : 0);
  const std::lock_guard lock(mutex);
  bases()[*out] = base;
  return status;
}

anyplace_address take_base(anyplace_address address) {
  const std::lock_guard lock(mutex);
  const auto found = bases().find(address);
  if (found == bases().end()) return address;
  const anyplace_address base = found->second;
  bases().erase(found);
  return base;
}

anyplace_status release(void* self, int32_t device, uint32_t kind, anyplace_address address) {
  return real.memory_free(self, device, kind, kind == ANYPLACE_MEMORY_DEVICE ? take_base(address) : address);
}

}  // namespace

extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,
                                                                         anyplace_backend_table* table) {
  void* const library = dlopen(ANYPLACE_CPU_SIM_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  void* const entry = library == nullptr ? nullptr : dlsym(library, ANYPLACE_ENTRY_SYMBOL);
  if (entry == nullptr) {
    host->leave_message(host->context, 0, nullptr, dlerror());
    return ANYPLACE_STATUS_LIBRARY_MISSING;
  }
  const anyplace_status status = reinterpret_cast<anyplace_backend_entry_function>(entry)(host, table);
  if (status != ANYPLACE_STATUS_OK) return status;
  std::memset(table->name, 0, sizeof(table->name));
  std::strcpy(table->name, "least_aligned");
  real = *table;
  if (const char* const said = std::getenv("STRESS_ALIGNMENT")) alignment = std::strtoull(said, nullptr, 10);
  table->device_properties = get_properties;
  table->memory_allocate = allocate;
  table->memory_free = release;
  table->memory_allocate_async = nullptr;
  table->memory_free_async = nullptr;
  return status;
}
