// SPDX-License-Identifier: Apache-2.0
//
// The addresses that a double gives out, with real memory of the host behind them, and what is known of each: whose it
// is, and whether it lives, is about to be freed or was. Device addresses are host addresses, so that kernels of the
// host can run on them. Memory costs nothing until it is touched.
//
// Invariants: a freed range is not given out again before the addresses behind it were, so that a use after free is
// seen for what it is; between two allocations lies a page that nobody may touch; freed memory isn't accessible any
// more.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace anyplace::doubles {

enum class MemoryKind : uint8_t { device, pinned, managed, registered, mapped };
enum class MemoryState : uint8_t {
  pending,  // its allocation is queued
  live,
  free_queued,  // its free is queued: nothing that is submitted now may use it
  freed,
};

struct Block {
  uint64_t start = 0;
  uint64_t bytes = 0;  // as asked for
  uint64_t id = 0;     // never reused
  MemoryKind kind = MemoryKind::device;
  MemoryState state = MemoryState::live;
  int device = 0;
  uint64_t owner = 0;              // the double's own: a context
  uint64_t pool = 0;               // the double's own: a pool, or the memory that is mapped
  uint64_t access = ~uint64_t{0};  // devices that may use it, one bit each, where that is a matter of the block
  uint32_t flags = 0;              // the double's own
  uint32_t uses = 0;               // operations that run on it now
};

enum class Verdict : uint8_t {
  usable,
  foreign,       // not of this address space: the user's own memory
  out_of_range,  // begins in a block and ends outside it, or no access to a part of a mapping
  freed,
  free_queued,
};
struct Finding {
  Verdict verdict = Verdict::foreign;
  Block block;  // where the range begins; unless foreign
};

class AddressSpace {
 public:
  /// Devices with `device_bytes` each; `host_bytes` for pinned and managed memory together.
  AddressSpace(int devices, uint64_t device_bytes, uint64_t host_bytes);
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;
  ~AddressSpace() = delete;  // kept until the process ends

  /// What the device's and managed blocks are aligned to, and to no more: a power of two up to a page, which it is if
  /// nothing is said. Before anything is allocated.
  void set_alignment(uint64_t alignment);
  /// From now on device blocks lie in their device's file of memory, so that other processes can map them. Before
  /// anything is allocated.
  void put_device_blocks_into_files();
  /// The device's file that the block lies in, and where; -1 if it lies in none.
  int file_of(uint64_t start, uint64_t& offset);
  /// Whether the descriptor is of a device's file of memory, of this process or of another one.
  static bool is_memory_file(int file);
  /// Whether it is of this process's.
  bool is_own_file(int file);
  /// 0 when there is no memory left. `model` says what the block is; its start, bytes and id are set.
  uint64_t allocate(Block model, uint64_t bytes);
  /// The user's own memory; false if a part of it is registered already.
  bool add_registered(Block model, uint64_t start, uint64_t bytes);
  /// The block that begins at `start`, unless it was freed.
  std::optional<Block> block_at(uint64_t start);
  /// The block that holds the address, freed ones too.
  std::optional<Block> block_of(uint64_t address);
  void set_state(uint64_t start, uint64_t id, MemoryState state);
  void set_access(uint64_t start, uint64_t access);
  /// The block is freed. False: something runs on it; its memory then stays until that ends. `keep`: it stays for good.
  bool free(uint64_t start, uint64_t id, bool keep = false);
  /// Puts the device block's memory into a file, which others can map from `lead` bytes on: its descriptor, until the
  /// block is freed; -1 if there is none. Nothing runs on the block meanwhile.
  int share(uint64_t start, uint64_t& lead);
  /// Maps such a file as a block, from `offset` on; 0 if that fails.
  uint64_t open_shared(Block model, int file, uint64_t lead, uint64_t bytes, uint64_t offset = 0);
  Finding find(uint64_t start, uint64_t bytes);
  /// Put around what runs on the block with that id that holds the address. False: it was freed, or isn't allocated
  /// yet.
  bool begin_use(uint64_t address, uint64_t id);
  void end_use(uint64_t address, uint64_t id);

  uint64_t device_bytes() const noexcept { return device_bytes_; }
  /// Of the device's memory, what is given out as blocks or as memory without an address.
  uint64_t used(int device);
  std::vector<Block> live();

  // -- Addresses and memory apart.
  /// 0 if there is no such range.
  uint64_t reserve(int device, uint64_t bytes, uint64_t alignment);
  /// False unless the range is exactly one that was reserved, with nothing mapped.
  bool release(uint64_t start, uint64_t bytes);
  /// How many ranges are reserved.
  std::size_t reserved();
  /// The offset in the device's file of memory; nullopt when there is no memory left.
  std::optional<uint64_t> create_memory(int device, uint64_t bytes);
  /// `keep`: what is in it stays for who else has the file.
  void destroy_memory(int device, uint64_t offset, uint64_t bytes, bool keep = false);
  /// A new descriptor of the device's file of memory, which says where in it the memory is; -1 if there is none.
  int export_memory(int device, uint64_t offset, uint64_t bytes);
  /// What such a descriptor says, of whichever process. False: it is none.
  static bool read_exported(int file, int& device, uint64_t& offset, uint64_t& bytes);
  enum class Mapping : uint8_t { done, not_reserved, occupied, failed };
  /// Maps memory at [start, start + bytes), as a block of kind mapped without access.
  /// `file`: another process's, if it isn't the device's own.
  Mapping map(Block model, uint64_t start, uint64_t bytes, uint64_t offset, int file = -1);
  /// The blocks that [start, start + bytes) consists of; empty if it isn't whole mappings that adjoin.
  std::vector<Block> mappings(uint64_t start, uint64_t bytes);
  /// False: something runs on it, as with free.
  bool unmap(uint64_t start);

 private:
  struct Arena {
    uint64_t start = 0;
    uint64_t bytes = 0;
    uint64_t next = 0;   // where the search for a place begins
    uint64_t used = 0;   // of what it may hold
    uint64_t limit = 0;  // what it may hold
    int file = -1;       // memory without an address
    uint64_t file_end = 0;
  };
  struct Range {
    uint64_t bytes = 0;
    int device = 0;
  };
  using Blocks = std::map<uint64_t, Block>;
  std::map<uint64_t, int> shared_;         // guarded by mutex_; the files of blocks that were shared
  std::map<uint64_t, uint64_t> in_files_;  // guarded by mutex_; where blocks lie in their device's file

  Arena& arena_of(const Block& block);
  /// So many bytes at the end of the arena's file: where; nullopt if it can't be had.
  static std::optional<uint64_t> extend_file(Arena& arena, uint64_t bytes);
  /// Opens the pages for a block that is being made.
  bool open_pages(Arena& arena, const Block& model, uint64_t page, uint64_t bytes);
  /// Takes its memory from a block that was freed.
  void close_block(const Block& block);
  /// Takes addresses from the system; the arena has none yet. False: it has no such range.
  static bool open(Arena& arena, uint64_t bytes);
  bool open(Arena& arena);
  uint64_t place(Arena& arena, uint64_t bytes, uint64_t alignment);
  void forget_freed(uint64_t start, uint64_t end);
  Blocks::iterator holding(uint64_t address);
  static bool in_the_way(const Block& block) noexcept { return block.state != MemoryState::freed || block.uses != 0; }

  const uint64_t device_bytes_;
  bool blocks_in_files_ = false;
  uint64_t offset_ = 0;         // of the device's and managed blocks, behind the page where they begin
  std::mutex mutex_;            // guards all below; the last in the lock order
  std::vector<Arena> arenas_;   // one for each device, and the last for the host
  std::vector<Arena> regions_;  // addresses for reservations, of any device; more are opened when these are full
  Blocks blocks_;
  std::map<uint64_t, Range> reserved_;
  uint64_t ids_ = 0;
};

}  // namespace anyplace::doubles
