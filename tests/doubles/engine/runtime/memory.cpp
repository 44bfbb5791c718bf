// SPDX-License-Identifier: Apache-2.0
//
// Memory of the device and of the host, and registered memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "calls.h"

namespace anyplace::doubles {
namespace {

bool is_host(const Block& block) { return block.kind == MemoryKind::pinned || block.kind == MemoryKind::registered; }

}  // namespace

bool lacks_memory(const Locked& lock, int device, uint64_t bytes) {
  const uint64_t total = state().memory.device_bytes();
  const auto lacks = [&] { return bytes > total || used_memory(lock, device) > total - bytes; };
  if (lacks()) trim_pools(lock);
  return lacks();
}

int memory_info(size_t* free, size_t* total) {
  if (is_null(free, total)) return code::invalid_value;
  ContextRef context;
  const int result = current_context(context);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  *total = state().memory.device_bytes();
  *free = *total - used_memory(lock, context->device);
  return 0;
}

int allocate(MemoryKind kind, uint64_t bytes, unsigned flags, WordOut address) {
  if (address.is_null() || bytes == 0) return code::invalid_value;
  ContextRef context;
  const int result = current_context(context);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  if (kind == MemoryKind::device && lacks_memory(lock, context->device, bytes)) return code::out_of_memory;
  Block model;
  model.kind = kind;
  model.device = context->device;
  model.owner = context->id;
  model.flags = flags;
  const uint64_t made = state().memory.allocate(model, bytes);
  if (made == 0) return code::out_of_memory;
  address.write(made);
  return 0;
}

namespace {

constexpr uint32_t opened = 1u << 31;  // a block's flag: another process's memory

/// What a handle of memory is made of.
struct MemoryHandle {
  uint64_t inode;
  uint64_t lead;
  uint64_t bytes;
  int pid;
  int file;
  int device;
};
static_assert(sizeof(MemoryHandle) <= SharedRecords::handle_bytes);

}  // namespace

int share_memory(void* handle, uint64_t address) {
  if (handle == nullptr) return code::invalid_value;
  ContextRef context;
  if (const int result = current_context(context); result != 0) return result;
  const Locked lock(state().mutex);
  const auto block = state().memory.block_at(address);
  // Memory of pools and mapped memory have no such handles, nor what is another process's.
  const bool has_one = block && block->kind == MemoryKind::device && block->pool == 0 && (block->flags & opened) == 0;
  if (!has_one) return code::invalid_value;
  MemoryHandle made{};
  made.file = state().memory.share(address, made.lead);
  struct stat found {};
  if (made.file < 0 || fstat(made.file, &found) != 0) return code::out_of_memory;
  made.inode = found.st_ino;
  made.bytes = block->bytes;
  made.pid = getpid();
  made.device = block->device;
  std::memset(handle, 0, SharedRecords::handle_bytes);
  std::memcpy(handle, &made, sizeof(made));
  return 0;
}

int open_memory(WordOut address, const void* handle, unsigned flags) {
  constexpr unsigned lazy_enable_peer_access = 1;
  if (address.is_null() || (flags & ~lazy_enable_peer_access) != 0) return code::invalid_value;
  MemoryHandle from{};
  std::memcpy(&from, handle, sizeof(from));
  ContextRef context;
  if (const int result = current_context(context); result != 0) return result;
  if (from.pid == getpid()) return code::invalid_context;
  const std::string path = "/proc/" + std::to_string(from.pid) + "/fd/" + std::to_string(from.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  struct stat found {};
  if (file < 0 || fstat(file, &found) != 0 || found.st_ino != from.inode) {
    if (file >= 0) close(file);
    return code::invalid_value;
  }
  Block model;
  model.device = context->device;
  model.owner = context->id;
  model.flags = opened;
  const Locked lock(state().mutex);
  const uint64_t mapped = state().memory.open_shared(model, file, from.lead, from.bytes);
  close(file);
  if (mapped == 0) return code::out_of_memory;
  address.write(mapped);
  return 0;
}

int close_memory(uint64_t address) {
  ContextRef context;
  if (const int result = current_context_to_release(context); result != 0) return result;
  const auto block = state().memory.block_at(address);
  if (!block || (block->flags & opened) == 0) {
    misused("of what is no other process's memory, or no longer");
    return code::invalid_value;
  }
  return free_block(*context, *block);
}

std::optional<Block> block_to_free(uint64_t address, std::initializer_list<MemoryKind> kinds) {
  auto block = state().memory.block_at(address);
  const bool freeable = block && (block->flags & opened) == 0 && block->state != MemoryState::free_queued &&
                        std::find(kinds.begin(), kinds.end(), block->kind) != kinds.end();
  if (freeable) return block;
  misused("of what is no allocation, or no longer");
  return std::nullopt;
}

int free_block(const Context& context, const Block& block) {
  const int fault = fault_of(context);
  if (state().memory.free(block.start, block.id, fault != 0)) return fault;
  misuses().add("memory was freed while something ran on it");
  state().engine.fail(context.fault, code::illegal_address);
  return 0;
}

int device_address(WordOut address, const void* memory) {
  const auto block = state().memory.block_of(Word(memory));
  if (!block || block->state != MemoryState::live || !is_host(*block)) return code::invalid_value;
  address.write(Word(memory));
  return 0;
}

int register_host(void* memory, size_t bytes, unsigned flags, unsigned known_flags) {
  if (memory == nullptr || bytes == 0 || (flags & ~known_flags) != 0) return code::invalid_value;
  ContextRef context;
  const int result = current_context(context);
  if (result != 0) return result;
  const auto inside = state().memory.block_of(Word(memory));
  if (inside && inside->kind != MemoryKind::registered && inside->state != MemoryState::freed) {
    return code::invalid_value;  // the driver's own memory
  }
  Block model;
  model.device = context->device;
  model.owner = context->id;
  model.flags = flags;
  return state().memory.add_registered(model, Word(memory), bytes) ? 0 : code::already_registered;
}

std::optional<Block> registered_block(const void* memory) {
  auto block = state().memory.block_at(Word(memory));
  return block && block->kind == MemoryKind::registered ? block : std::nullopt;
}

bool is_host_memory(uint64_t address) {
  const auto block = state().memory.block_of(address);
  return !block || is_host(*block);
}

int check_device_of(const Context& context, uint64_t address) {
  const auto block = state().memory.block_of(address);
  const bool on_device = block && (block->kind == MemoryKind::device || block->kind == MemoryKind::mapped);
  return on_device && block->device != context.device ? code::invalid_value : 0;
}

}  // namespace anyplace::doubles
