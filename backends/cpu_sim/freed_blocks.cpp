// SPDX-License-Identifier: Apache-2.0
#include "freed_blocks.h"

#include <anyplace/backend/device_backend.h>

#include <new>
#include <string>

#include "director.h"
#include "host_memory.h"

namespace anyplace::cpu_sim {
namespace {

// A device keeps at most so much. More options of one kind would hardly find more.
constexpr std::size_t most_blocks = 8;
constexpr std::uint64_t most_bytes = 64 << 20;

}  // namespace

FreedBlocks::~FreedBlocks() {
  while (!blocks_.empty()) give_away(0);
}

void FreedBlocks::give_away(std::size_t index) noexcept {
  const Block block = blocks_[index];
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
  bytes_ -= block.bytes;
  give_host_memory(backend::from_handle<void>(block.address), block.bytes);
}

bool FreedBlocks::keep(anyplace_address address, std::uint64_t bytes, bool stays_accessible) noexcept {
  if (Director::get() == nullptr || bytes > most_bytes) return false;
  const std::lock_guard lock(mutex_);
  while (blocks_.size() == most_blocks || bytes > most_bytes - bytes_) give_away(0);
  try {
    blocks_.push_back({address, bytes});
  } catch (const std::bad_alloc&) {
    return false;
  }
  bytes_ += bytes;
  if (!stays_accessible) close_host_memory(backend::from_handle<void>(address), bytes);
  return true;
}

anyplace_address FreedBlocks::take(std::uint64_t bytes) {
  Director* const director = Director::get();
  if (director == nullptr) return 0;
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> fitting;
  std::vector<std::string> what{"fresh memory"};
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    if (blocks_[i].bytes != bytes) continue;
    what.push_back(fitting.empty() ? "the block that was freed last"
                                   : "a block that was freed " + std::to_string(fitting.size()) + " before that");
    fitting.push_back(i);
  }
  if (fitting.empty()) return 0;
  const std::size_t way = director->choose_in_call("reuse", what);
  if (way == 0) return 0;
  const anyplace_address address = blocks_[fitting[way - 1]].address;
  if (!open_host_memory(backend::from_handle<void>(address), bytes)) return 0;
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(fitting[way - 1]));
  bytes_ -= bytes;
  return address;
}

}  // namespace anyplace::cpu_sim
