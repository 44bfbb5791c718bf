// SPDX-License-Identifier: Apache-2.0
//
// TrackingAllocator: keeps a list of its allocations. Invariant: an address is removed from the list before the
// allocator below gets it back, because that may hand it out again at once.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "anyplace/stream.h"
#include "memory/adaptors.h"
#include "runtime/call.h"

namespace anyplace {
namespace {

struct Entry {
  std::uint64_t bytes;
  std::uint64_t stream;
  std::uint64_t number;  ///< it was the number-th allocation
};
using Entries = std::unordered_map<std::uint64_t, Entry>;

}  // namespace

struct TrackingAllocator::State {
  std::shared_ptr<Allocator> upstream;

  mutable std::mutex mutex;  // guards everything below; a leaf
  Entries entries;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t peak = 0;

  void add(Entries::node_type&& node) {
    bytes += node.mapped().bytes;
    entries.insert(std::move(node));
  }
  Entries::node_type take_out(const StreamView& stream, std::uint64_t address, std::uint64_t size);
};

Entries::node_type TrackingAllocator::State::take_out(const StreamView& stream, std::uint64_t address,
                                                      std::uint64_t size) {
  constexpr const char* operation = "TrackingAllocator: deallocate";
  const std::lock_guard lock(mutex);
  const auto found = entries.find(address);
  if (found == entries.end()) {
    detail::fail(ErrorCode::invalid_argument, "", operation,
                 fmt::format("nothing that begins at address {:#x} is out: it was never allocated here, or was freed "
                             "already",
                             address));
  }
  const Entry& entry = found->second;
  if (entry.bytes != size || entry.stream != stream.id()) {
    detail::fail(
        ErrorCode::invalid_argument, "", operation,
        fmt::format("address {:#x} was allocated with {} bytes on stream {}, and is freed with {} bytes on stream {}",
                    address, entry.bytes, entry.stream, size, stream.id()));
  }
  bytes -= size;
  return entries.extract(found);
}

TrackingAllocator::TrackingAllocator(std::shared_ptr<Allocator> upstream) : state_(std::make_unique<State>()) {
  state_->upstream = detail::required(std::move(upstream), "TrackingAllocator");
}

TrackingAllocator::~TrackingAllocator() = default;

std::uint64_t TrackingAllocator::allocate(const StreamView& stream, std::uint64_t bytes) {
  const std::uint64_t address = state_->upstream->allocate(stream, bytes);
  if (address == 0) return 0;
  try {
    const std::lock_guard lock(state_->mutex);
    state_->entries[address] = {bytes, stream.id(), state_->count + 1};
    ++state_->count;
    state_->bytes += bytes;
    state_->peak = std::max(state_->peak, state_->bytes);
  } catch (...) {
    state_->upstream->deallocate(stream, address, bytes);
    throw;
  }
  return address;
}

void TrackingAllocator::deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) {
  if (address == 0 && bytes == 0) {
    state_->upstream->deallocate(stream, address, bytes);
    return;
  }
  Entries::node_type node = state_->take_out(stream, address, bytes);
  try {
    state_->upstream->deallocate(stream, address, bytes);
  } catch (...) {
    const std::lock_guard lock(state_->mutex);
    state_->add(std::move(node));
    throw;
  }
}

std::uint64_t TrackingAllocator::outstanding_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bytes;
}

std::uint64_t TrackingAllocator::outstanding_allocations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->entries.size();
}

std::uint64_t TrackingAllocator::peak_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak;
}

std::string TrackingAllocator::report() const {
  std::vector<std::pair<std::uint64_t, Entry>> all;
  {
    const std::lock_guard lock(state_->mutex);
    all.assign(state_->entries.begin(), state_->entries.end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.number < b.second.number; });
  std::string text;
  for (const auto& [address, entry] : all) {
    text += fmt::format("address {:#x}, {} bytes, stream {}, allocation {}\n", address, entry.bytes, entry.stream,
                        entry.number);
  }
  return text;
}

}  // namespace anyplace
