// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "calls.h"

namespace anyplace::doubles {
namespace {

constexpr uint64_t granularity_bytes = uint64_t{2} << 20U;

bool is_granular(uint64_t bytes) { return bytes != 0 && bytes % granularity_bytes == 0; }

uint64_t bit_of(int device) { return uint64_t{1} << static_cast<unsigned>(device); }

/// The device of a location; other places have no memory or access here.
int check_location(const Access& location) {
  return location.location_type == Access::on_device ? check_device(location.device) : code::invalid_value;
}

int check_properties(const PhysicalProperties& properties) {
  constexpr int pinned = 1;
  if (properties.type != pinned) return code::invalid_value;
  const int result = check_location(properties.location);
  return result == 0 && !properties.plain ? code::not_supported : result;
}

/// The last reference to the memory gives it back.
void forget_if_done(const Locked&, const Physical& physical) {
  if (physical.handles != 0 || physical.mappings != 0) return;
  const uint64_t handle = physical.handle;
  if (physical.file < 0) {
    state().memory.destroy_memory(physical.device, physical.offset, physical.bytes, physical.exported);
  }
  state().physicals.remove(handle);
}

int map_result(AddressSpace::Mapping mapping) {
  if (mapping == AddressSpace::Mapping::done) return 0;
  return mapping == AddressSpace::Mapping::failed ? code::out_of_memory : code::invalid_value;
}

/// Something ran on the mapping that is gone: whoever is at work here has an address that faults.
void fault_of_unmapped() {
  misuses().add("memory was unmapped while something ran on it");
  ContextRef context;
  if (current_context(context) == 0) state().engine.fail(context->fault, code::illegal_address);
}

}  // namespace

Physical::~Physical() {
  if (file >= 0) close(file);
}

PhysicalRef find_physical(const Locked&, uint64_t handle) {
  PhysicalRef found = state().physicals.find(handle);
  return found == nullptr || found->handles == 0 ? nullptr : found;
}

std::optional<Block> mapping_of(uint64_t address) {
  auto block = state().memory.block_of(address);
  if (!block || block->kind != MemoryKind::mapped || block->state == MemoryState::freed) return std::nullopt;
  return block;
}

int allocation_granularity(size_t* granularity, const PhysicalProperties& properties, int option) {
  constexpr int minimum = 0, recommended = 1;
  if (granularity == nullptr || (option != minimum && option != recommended)) return code::invalid_value;
  const int result = check_properties(properties);
  if (result == 0) *granularity = granularity_bytes;
  return result;
}

// `wanted` is a hint, say the references; it isn't followed.
int reserve_addresses(WordOut address, size_t size, size_t alignment, Word wanted, uint64_t flags) {
  const bool valid_alignment = (alignment & (alignment - 1)) == 0;
  if (address.is_null() || flags != 0 || !is_granular(size) || !valid_alignment) return code::invalid_value;
  if (wanted % granularity_bytes != 0) return code::invalid_value;
  const int devices = static_cast<int>(state().settings.visible.size());
  for (int device = 0; device < devices; ++device) {
    const uint64_t start = state().memory.reserve(device, size, std::max<uint64_t>(alignment, granularity_bytes));
    if (start == 0) continue;
    address.write(start);
    return 0;
  }
  return code::out_of_memory;
}

int free_addresses(Word address, size_t size) {
  if (state().memory.release(address, size)) return 0;
  misused("of what is no reservation, or no longer, or has a mapping in it");
  return code::invalid_value;
}

int create_memory(WordOut handle, size_t size, const PhysicalProperties& properties, uint64_t flags) {
  if (handle.is_null() || flags != 0 || !is_granular(size)) return code::invalid_value;
  const int result = check_properties(properties);
  if (result != 0) return result;
  auto made = std::make_shared<Physical>();
  made->device = properties.location.device;
  made->bytes = size;
  made->handles = 1;
  made->shareable = properties.shareable;
  const Locked lock(state().mutex);
  if (lacks_memory(lock, made->device, size)) return code::out_of_memory;
  const auto offset = state().memory.create_memory(made->device, size);
  if (!offset) return code::out_of_memory;
  made->offset = *offset;
  made->handle = state().physicals.add(made);
  handle.write(made->handle);
  return 0;
}

int release_memory(Word handle) {
  const Locked lock(state().mutex);
  const PhysicalRef found = find_physical(lock, handle);
  if (found == nullptr) {
    misused("of what is no memory, or no longer");
    return code::invalid_value;
  }
  --found->handles;
  forget_if_done(lock, *found);
  return 0;
}

// "offset must be zero currently", say the references.
int map_memory(Word address, size_t size, size_t offset, Word handle, uint64_t flags) {
  if (flags != 0 || offset != 0 || !is_granular(size) || address % granularity_bytes != 0) return code::invalid_value;
  const Locked lock(state().mutex);
  const PhysicalRef found = find_physical(lock, handle);
  if (found == nullptr || size > found->bytes) return code::invalid_value;
  Block model;
  model.device = found->device;
  model.pool = handle;
  const int result = map_result(state().memory.map(model, address, size, found->offset, found->file));
  if (result == 0) ++found->mappings;
  return result;
}

int unmap_memory(Word address, size_t size) {
  std::vector<Block> blocks;
  bool unused = true;
  {
    const Locked lock(state().mutex);
    if (is_granular(size)) blocks = state().memory.mappings(address, size);
    for (const Block& block : blocks) {
      unused = state().memory.unmap(block.start) && unused;
      const PhysicalRef physical = state().physicals.find(block.pool);
      --physical->mappings;
      forget_if_done(lock, *physical);
    }
  }
  if (blocks.empty()) {
    misused("of what isn't whole mappings, or no longer");
    return code::invalid_value;
  }
  if (!unused) fault_of_unmapped();
  return 0;
}

int retain_memory(WordOut handle, Word address) {
  if (handle.is_null()) return code::invalid_value;
  const Locked lock(state().mutex);
  const auto block = mapping_of(address);
  if (!block) return code::invalid_value;
  const PhysicalRef found = state().physicals.find(block->pool);
  ++found->handles;
  handle.write(found->handle);
  return 0;
}

namespace {
constexpr int file_descriptor = 1;
}

int export_memory_handle(void* out, Word handle, int type, uint64_t flags) {
  if (out == nullptr || flags != 0) return code::invalid_value;
  const Locked lock(state().mutex);
  const PhysicalRef found = find_physical(lock, handle);
  if (found == nullptr) return code::invalid_value;
  if (type != file_descriptor || !found->shareable) {
    misused("of memory that wasn't made with that type of handle");
    return code::invalid_value;
  }
  const int file = state().memory.export_memory(found->device, found->offset, found->bytes);
  if (file < 0) return code::out_of_memory;
  found->exported = true;
  std::memcpy(out, &file, sizeof(file));
  return 0;
}

// The descriptor stays the caller's, say the references.
int import_memory_handle(WordOut handle, int descriptor, int type) {
  if (handle.is_null() || type != file_descriptor) return code::invalid_value;
  auto made = std::make_shared<Physical>();
  if (!AddressSpace::read_exported(descriptor, made->device, made->offset, made->bytes)) {
    misused("of a descriptor that is no memory");
    return code::invalid_value;
  }
  if (const int result = check_device(made->device); result != 0) return result;
  made->file = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  if (made->file < 0) return code::out_of_memory;
  made->handles = 1;
  const Locked lock(state().mutex);
  made->handle = state().physicals.add(made);
  handle.write(made->handle);
  return 0;
}

int set_access(Word address, size_t size, const std::vector<Access>& accesses) {
  if (accesses.empty() || !is_granular(size)) return code::invalid_value;
  uint64_t given = 0;
  uint64_t taken = 0;
  for (const Access& access : accesses) {
    const int result = check_location(access);
    if (result != 0) return result;
    const bool all = access.flags == Access::read_write;
    if (!all && access.flags != Access::none) return code::not_supported;
    (all ? given : taken) |= bit_of(access.device);
  }
  const Locked lock(state().mutex);
  const std::vector<Block> blocks = state().memory.mappings(address, size);
  if (blocks.empty()) return code::invalid_value;
  for (const Block& block : blocks) {
    const bool foreign = (given & ~bit_of(block.device)) != 0;
    if (foreign && !state().settings.peers) return code::invalid_device;
  }
  for (const Block& block : blocks) state().memory.set_access(block.start, (block.access & ~taken) | given);
  return 0;
}

int get_access(unsigned long long* flags, const Access& location, Word address) {
  if (flags == nullptr) return code::invalid_value;
  const int result = check_location(location);
  if (result != 0) return result;
  const auto block = mapping_of(address);
  if (!block) return code::invalid_value;
  const bool all = (block->access & bit_of(location.device)) != 0;
  *flags = all ? Access::read_write : Access::none;
  return 0;
}

}  // namespace anyplace::doubles
