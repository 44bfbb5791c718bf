// SPDX-License-Identifier: Apache-2.0
#include "address_space.h"

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace anyplace::doubles {
namespace {

constexpr uint64_t least_arena = uint64_t{8} << 30U;
constexpr uint64_t most_bytes = uint64_t{1} << 56U;  // more than any process has
constexpr uint64_t times_memory = 4;                 // addresses for each byte of memory, so that freed ones rest
constexpr uint64_t garbage = 64 * 1024;              // of new memory is filled, as what it holds is undefined

/// Of the machine: what can be opened and closed at once.
uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }
void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT: addresses are numbers here

/// Takes the memory from behind the addresses; they stay taken.
/// All pages that the range touches.
void close_range(uint64_t start, uint64_t bytes) {
  const uint64_t page = start & ~(page_bytes() - 1);
  mmap(pointer(page), round_up(start + bytes - page, page_bytes()), PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

constexpr const char* memory_file_name = "device memory of a double";

bool has_memory(const Block& block) { return block.kind != MemoryKind::registered && block.kind != MemoryKind::mapped; }

}  // namespace

AddressSpace::AddressSpace(int devices, uint64_t device_bytes, uint64_t host_bytes) : device_bytes_(device_bytes) {
  arenas_.resize(static_cast<std::size_t>(devices) + 1);
  for (Arena& arena : arenas_) arena.limit = device_bytes;
  arenas_.back().limit = host_bytes;
}

AddressSpace::Arena& AddressSpace::arena_of(const Block& block) {
  const bool on_device = block.kind == MemoryKind::device || block.kind == MemoryKind::mapped;
  return on_device ? arenas_[static_cast<std::size_t>(block.device)] : arenas_.back();
}

bool AddressSpace::open(Arena& arena) {
  return arena.start != 0 || open(arena, round_up(std::max(least_arena, arena.limit * times_memory), page_bytes()));
}

bool AddressSpace::open(Arena& arena, uint64_t bytes) {
  void* start = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return false;
  arena.start = reinterpret_cast<uint64_t>(start);
  arena.bytes = bytes;
  arena.next = arena.start;
  return true;
}

/// A free range of the arena with a page of distance to others, searched from where the last was found.
uint64_t AddressSpace::place(Arena& arena, uint64_t bytes, uint64_t alignment) {
  if (bytes > arena.bytes) return 0;
  bool wrapped = false;
  uint64_t at = round_up(arena.next, alignment);
  for (;;) {
    if (at + bytes + page_bytes() > arena.start + arena.bytes) {
      if (wrapped) return 0;
      wrapped = true;
      at = round_up(arena.start, alignment);
      continue;
    }
    uint64_t behind = 0;  // the end of something in the way
    auto block = blocks_.lower_bound(at);
    if (block != blocks_.begin()) --block;
    for (; block != blocks_.end() && block->first < at + bytes + page_bytes(); ++block) {
      const uint64_t end = block->first + round_up(block->second.bytes, page_bytes()) + page_bytes();
      if (in_the_way(block->second) && end > at) behind = std::max(behind, end);
    }
    auto range = reserved_.lower_bound(at);
    if (range != reserved_.begin()) --range;
    for (; range != reserved_.end() && range->first < at + bytes + page_bytes(); ++range) {
      if (range->first + range->second.bytes + page_bytes() > at) {
        behind = std::max(behind, range->first + range->second.bytes + page_bytes());
      }
    }
    if (behind == 0) break;
    at = round_up(behind, alignment);
  }
  arena.next = at + bytes + page_bytes();
  forget_freed(at, at + bytes);
  return at;
}

void AddressSpace::forget_freed(uint64_t start, uint64_t end) {
  auto block = blocks_.lower_bound(start);
  if (block != blocks_.begin()) --block;
  while (block != blocks_.end() && block->first < end) {
    const bool overlaps = block->first + block->second.bytes > start;
    block = overlaps && !in_the_way(block->second) ? blocks_.erase(block) : std::next(block);
  }
}

void AddressSpace::set_alignment(uint64_t alignment) {
  const std::lock_guard lock(mutex_);
  offset_ = alignment % page_bytes();
}

void AddressSpace::put_device_blocks_into_files() {
  const std::lock_guard lock(mutex_);
  blocks_in_files_ = true;
}

std::optional<uint64_t> AddressSpace::extend_file(Arena& arena, uint64_t bytes) {
  if (arena.file < 0) arena.file = memfd_create(memory_file_name, MFD_CLOEXEC);
  if (arena.file < 0) return std::nullopt;
  // Offsets aren't reused: the file is sparse, and what is behind an offset goes with the memory.
  const uint64_t offset = arena.file_end;
  if (ftruncate(arena.file, static_cast<off_t>(offset + bytes)) != 0) return std::nullopt;
  arena.file_end += bytes;
  return offset;
}

bool AddressSpace::open_pages(Arena& arena, const Block& model, uint64_t page, uint64_t bytes) {
  constexpr int access = PROT_READ | PROT_WRITE;
  if (!blocks_in_files_ || model.kind != MemoryKind::device) return mprotect(pointer(page), bytes, access) == 0;
  const auto offset = extend_file(arena, bytes);
  if (!offset || mmap(pointer(page), bytes, access, MAP_SHARED | MAP_FIXED, arena.file, static_cast<off_t>(*offset)) ==
                     MAP_FAILED) {
    return false;
  }
  in_files_[page + offset_] = *offset + offset_;
  return true;
}

void AddressSpace::close_block(const Block& block) {
  close_range(block.start, block.bytes);
  const auto in_file = in_files_.find(block.start);
  if (in_file == in_files_.end()) return;
  const uint64_t page = in_file->second & ~(page_bytes() - 1);
  fallocate(arena_of(block).file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(page),
            static_cast<off_t>(round_up(in_file->second + block.bytes - page, page_bytes())));
  in_files_.erase(in_file);
}

int AddressSpace::file_of(uint64_t start, uint64_t& offset) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(start);
  const auto in_file = in_files_.find(start);
  if (block == blocks_.end() || in_file == in_files_.end()) return -1;
  offset = in_file->second;
  return arena_of(block->second).file;
}

bool AddressSpace::is_memory_file(int file) {
  char target[64] = "";
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  return readlink(link.c_str(), target, sizeof(target) - 1) > 0 &&
         std::string(target).find(std::string("memfd:") + memory_file_name) != std::string::npos;
}

bool AddressSpace::is_own_file(int file) {
  const std::lock_guard lock(mutex_);
  struct stat found {};
  if (fstat(file, &found) != 0) return false;
  return std::any_of(arenas_.begin(), arenas_.end(), [&found](const Arena& arena) {
    struct stat own {};
    return arena.file >= 0 && fstat(arena.file, &own) == 0 && own.st_ino == found.st_ino;
  });
}

uint64_t AddressSpace::allocate(Block model, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  Arena& arena = arena_of(model);
  if (bytes > arena.limit || bytes > arena.limit - arena.used || !open(arena)) return 0;
  const uint64_t offset = model.kind == MemoryKind::device || model.kind == MemoryKind::managed ? offset_ : 0;
  const uint64_t pages = round_up(bytes + offset, page_bytes());
  const uint64_t page = place(arena, pages, page_bytes());
  if (page == 0) return 0;
  if (!open_pages(arena, model, page, pages)) {
    close_range(page, pages);
    return 0;
  }
  const uint64_t start = page + offset;
  std::memset(pointer(start), 0xA5, std::min(bytes, garbage));
  model.start = start;
  model.bytes = bytes;
  model.id = ++ids_;
  blocks_[start] = model;
  arena.used += bytes;
  return start;
}

bool AddressSpace::add_registered(Block model, uint64_t start, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto block = blocks_.lower_bound(start);
  if (block != blocks_.begin()) --block;
  for (; block != blocks_.end() && block->first < start + bytes; ++block) {
    if (block->second.state != MemoryState::freed && block->first + block->second.bytes > start) return false;
  }
  forget_freed(start, start + bytes);
  model.start = start;
  model.bytes = bytes;
  model.id = ++ids_;
  model.kind = MemoryKind::registered;
  blocks_[start] = model;
  return true;
}

AddressSpace::Blocks::iterator AddressSpace::holding(uint64_t address) {
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return blocks_.end();
  --block;
  return address - block->first < block->second.bytes ? block : blocks_.end();
}

std::optional<Block> AddressSpace::block_at(uint64_t start) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(start);
  if (block == blocks_.end() || block->second.state == MemoryState::freed) return std::nullopt;
  return block->second;
}

std::optional<Block> AddressSpace::block_of(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto block = holding(address);
  if (block == blocks_.end()) return std::nullopt;
  return block->second;
}

void AddressSpace::set_state(uint64_t start, uint64_t id, MemoryState state) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(start);
  if (block != blocks_.end() && block->second.id == id) block->second.state = state;
}

bool AddressSpace::free(uint64_t start, uint64_t id, bool keep) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(start);
  if (found == blocks_.end() || found->second.id != id || found->second.state == MemoryState::freed) return true;
  Block& block = found->second;
  const bool unused = block.uses == 0;
  if (block.kind == MemoryKind::registered) {
    blocks_.erase(found);  // the user's memory goes on without us
    return unused;
  }
  block.state = MemoryState::freed;
  if (const auto file = shared_.find(start); file != shared_.end()) {
    close(file->second);  // who has mapped it keeps it
    shared_.erase(file);
  }
  if (has_memory(block)) arena_of(block).used -= block.bytes;
  if (unused && !keep) close_block(block);
  return unused;
}

int AddressSpace::share(uint64_t start, uint64_t& lead) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(start);
  if (found == blocks_.end() || found->second.kind != MemoryKind::device) return -1;
  const uint64_t page = start & ~(page_bytes() - 1);
  lead = start - page;
  if (const auto known = shared_.find(start); known != shared_.end()) return known->second;
  const uint64_t pages = round_up(lead + found->second.bytes, page_bytes());
  const int file = memfd_create("double's memory", MFD_CLOEXEC);
  if (file < 0) return -1;
  for (uint64_t done = 0; done < pages;) {
    const ssize_t written = pwrite(file, pointer(page + done), pages - done, static_cast<off_t>(done));
    if (written <= 0) {
      close(file);
      return -1;
    }
    done += static_cast<uint64_t>(written);
  }
  if (mmap(pointer(page), pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    close(file);
    return -1;
  }
  shared_[start] = file;
  return file;
}

uint64_t AddressSpace::open_shared(Block model, int file, uint64_t lead, uint64_t bytes, uint64_t offset) {
  const std::lock_guard lock(mutex_);
  Arena& arena = arena_of(model);
  if (!open(arena)) return 0;
  const uint64_t pages = round_up(lead + bytes, page_bytes());
  const uint64_t page = place(arena, pages, page_bytes());
  if (page == 0) return 0;
  if (mmap(pointer(page), pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset)) ==
      MAP_FAILED) {
    return 0;
  }
  model.start = page + lead;
  model.bytes = bytes;
  model.id = ++ids_;
  blocks_[model.start] = model;
  arena.used += bytes;
  return model.start;
}

bool AddressSpace::begin_use(uint64_t address, uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto block = holding(address);
  if (block == blocks_.end() || block->second.id != id) return false;
  const MemoryState state = block->second.state;
  if (state != MemoryState::live && state != MemoryState::free_queued) return false;
  ++block->second.uses;
  return true;
}

void AddressSpace::end_use(uint64_t address, uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = holding(address);
  if (found == blocks_.end() || found->second.id != id) return;
  Block& block = found->second;
  if (--block.uses == 0 && block.state == MemoryState::freed) close_block(block);
}

Finding AddressSpace::find(uint64_t start, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto block = holding(start);
  if (block == blocks_.end()) {
    const auto holds = [start](const Arena& arena) { return arena.start != 0 && start - arena.start < arena.bytes; };
    if (std::any_of(arenas_.begin(), arenas_.end(), holds) || std::any_of(regions_.begin(), regions_.end(), holds)) {
      return {Verdict::out_of_range, Block{}};
    }
    return {Verdict::foreign, Block{}};
  }
  Finding finding{Verdict::usable, block->second};
  if (finding.block.state == MemoryState::freed) finding.verdict = Verdict::freed;
  if (finding.block.state == MemoryState::free_queued) finding.verdict = Verdict::free_queued;
  if (finding.verdict != Verdict::usable) return finding;
  if (bytes <= finding.block.bytes - (start - finding.block.start)) return finding;
  finding.verdict = Verdict::out_of_range;
  if (finding.block.kind != MemoryKind::mapped) return finding;
  // Mappings that adjoin are one memory, as long as the access is the same.
  uint64_t end = finding.block.start + finding.block.bytes;
  for (auto next = std::next(block); next != blocks_.end() && next->first == end; ++next) {
    const Block& more = next->second;
    if (more.kind != MemoryKind::mapped || more.state != MemoryState::live) break;
    finding.block.access &= more.access;
    end += more.bytes;
    if (end - start >= bytes) finding.verdict = Verdict::usable;
    if (end - start >= bytes) break;
  }
  return finding;
}

uint64_t AddressSpace::used(int device) {
  const std::lock_guard lock(mutex_);
  return arenas_[static_cast<std::size_t>(device)].used;
}

std::vector<Block> AddressSpace::live() {
  const std::lock_guard lock(mutex_);
  std::vector<Block> live;
  for (const auto& [start, block] : blocks_) {
    if (block.state != MemoryState::freed) live.push_back(block);
  }
  return live;
}

uint64_t AddressSpace::reserve(int device, uint64_t bytes, uint64_t alignment) {
  const std::lock_guard lock(mutex_);
  alignment = std::max(alignment, page_bytes());
  if (bytes > most_bytes || alignment > most_bytes) return 0;
  uint64_t start = 0;
  for (Arena& region : regions_) {
    start = place(region, bytes, alignment);
    if (start != 0) break;
  }
  if (start == 0) {
    // Room for two, so that the addresses of one that is released rest.
    Arena region;
    if (!open(region, round_up(std::max(least_arena, 2 * (bytes + alignment + page_bytes())), page_bytes()))) return 0;
    start = place(regions_.emplace_back(region), bytes, alignment);
  }
  if (start != 0) reserved_[start] = Range{bytes, device};
  return start;
}

bool AddressSpace::release(uint64_t start, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto range = reserved_.find(start);
  if (range == reserved_.end() || range->second.bytes != bytes) return false;
  for (auto block = blocks_.lower_bound(start); block != blocks_.end() && block->first < start + bytes; ++block) {
    if (block->second.state != MemoryState::freed) return false;
  }
  reserved_.erase(range);
  return true;
}

std::size_t AddressSpace::reserved() {
  const std::lock_guard lock(mutex_);
  return reserved_.size();
}

std::optional<uint64_t> AddressSpace::create_memory(int device, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  Arena& arena = arenas_[static_cast<std::size_t>(device)];
  if (bytes > arena.limit || bytes > arena.limit - arena.used) return std::nullopt;
  const auto offset = extend_file(arena, bytes);
  if (offset) arena.used += bytes;
  return offset;
}

void AddressSpace::destroy_memory(int device, uint64_t offset, uint64_t bytes, bool keep) {
  const std::lock_guard lock(mutex_);
  Arena& arena = arenas_[static_cast<std::size_t>(device)];
  if (!keep) {
    fallocate(arena.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
  }
  arena.used -= bytes;
}

// The descriptor's position, which nothing else uses, is the memory's place in the file, its size and its device.
namespace {
constexpr uint64_t exported_unit = uint64_t{2} << 20U;
constexpr unsigned size_at = 8, place_at = 28;
}  // namespace

int AddressSpace::export_memory(int device, uint64_t offset, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Arena& arena = arenas_[static_cast<std::size_t>(device)];
  const std::string path = "/proc/self/fd/" + std::to_string(arena.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const uint64_t position =
      offset / exported_unit << place_at | bytes / exported_unit << size_at | static_cast<uint64_t>(device);
  if (file >= 0 && lseek(file, static_cast<off_t>(position), SEEK_SET) >= 0) return file;
  if (file >= 0) close(file);
  return -1;
}

bool AddressSpace::read_exported(int file, int& device, uint64_t& offset, uint64_t& bytes) {
  struct stat found {};
  if (!is_memory_file(file) || fstat(file, &found) != 0) return false;
  const auto position = static_cast<uint64_t>(lseek(file, 0, SEEK_CUR));
  device = static_cast<int>(position & 0xff);
  bytes = (position >> size_at & 0xfffff) * exported_unit;
  offset = (position >> place_at) * exported_unit;
  const auto end = static_cast<uint64_t>(found.st_size);
  return bytes != 0 && offset <= end && bytes <= end - offset;
}

AddressSpace::Mapping AddressSpace::map(Block model, uint64_t start, uint64_t bytes, uint64_t offset, int file) {
  const std::lock_guard lock(mutex_);
  auto range = reserved_.upper_bound(start);
  if (range == reserved_.begin()) return Mapping::not_reserved;
  --range;
  const uint64_t into = start - range->first;
  if (into > range->second.bytes || bytes > range->second.bytes - into) return Mapping::not_reserved;
  auto block = blocks_.lower_bound(start);
  if (block != blocks_.begin()) --block;
  for (; block != blocks_.end() && block->first < start + bytes; ++block) {
    const Block& there = block->second;
    if (there.state != MemoryState::freed && there.start + there.bytes > start) return Mapping::occupied;
  }
  if (file < 0) file = arenas_[static_cast<std::size_t>(model.device)].file;
  void* mapped = mmap(pointer(start), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return Mapping::failed;
  forget_freed(start, start + bytes);
  model.start = start;
  model.bytes = bytes;
  model.id = ++ids_;
  model.kind = MemoryKind::mapped;
  model.access = 0;
  blocks_[start] = model;
  return Mapping::done;
}

std::vector<Block> AddressSpace::mappings(uint64_t start, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::vector<Block> found;
  uint64_t at = start;
  while (at < start + bytes) {
    const auto block = blocks_.find(at);
    if (block == blocks_.end() || block->second.kind != MemoryKind::mapped) return {};
    if (block->second.state == MemoryState::freed) return {};
    found.push_back(block->second);
    at += block->second.bytes;
  }
  return at == start + bytes ? found : std::vector<Block>{};
}

void AddressSpace::set_access(uint64_t start, uint64_t access) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(start);
  if (found == blocks_.end() || found->second.state == MemoryState::freed) return;
  found->second.access = access;
  mprotect(pointer(start), found->second.bytes, access == 0 ? PROT_NONE : PROT_READ | PROT_WRITE);
}

bool AddressSpace::unmap(uint64_t start) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(start);
  if (found == blocks_.end()) return true;
  found->second.state = MemoryState::freed;
  if (found->second.uses != 0) return false;
  close_range(start, found->second.bytes);
  return true;
}

}  // namespace anyplace::doubles
