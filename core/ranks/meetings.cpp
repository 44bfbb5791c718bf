// SPDX-License-Identifier: Apache-2.0
#include "ranks/meetings.h"

#include <algorithm>

#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

struct Registry {
  std::mutex mutex;  // guards ranks; a leaf
  std::map<std::uint64_t, std::weak_ptr<RanksHere>> ranks;
};
NoDestructor<Registry> communicators_here;

/// FNV-1a over the bytes of numbers.
class Hash {
 public:
  Hash& add(std::uint64_t number) noexcept {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<std::uint8_t>(number >> (8 * i)));
    return *this;
  }
  void add_byte(std::uint8_t byte) noexcept { value_ = (value_ ^ byte) * 1099511628211u; }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037u;
};

std::shared_ptr<RanksHere> join(std::uint64_t communicator) {
  const std::lock_guard lock(communicators_here.value.mutex);
  std::erase_if(communicators_here.value.ranks, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<RanksHere>& known = communicators_here.value.ranks[communicator];
  std::shared_ptr<RanksHere> here = known.lock();
  if (here == nullptr) {
    here = std::make_shared<RanksHere>();
    here->communicator = communicator;
    known = here;
  }
  here->count.fetch_add(1);
  return here;
}

}  // namespace

std::shared_ptr<RanksHere> join_ranks_here(std::span<const std::uint8_t> id) {
  Hash hash;
  for (const std::uint8_t byte : id) hash.add_byte(byte);
  return join(hash.value());
}

std::shared_ptr<RanksHere> join_split_here(const std::shared_ptr<RanksHere>& of, std::uint32_t number, int color) {
  if (of == nullptr) return nullptr;
  return join(Hash().add(of->communicator).add(number).add(static_cast<std::uint64_t>(color)).value());
}

std::vector<anyplace_layer_meeting> Meetings::of(std::span<const Part> parts, int rank, int size) {
  std::vector<anyplace_layer_meeting> met;
  const std::uint32_t count = here_ == nullptr ? 1 : here_->count.load();
  if (count < 2) return met;
  const std::lock_guard lock(mutex_);
  for (const Part& part : parts) {
    if (part.is_between_two() && part.root == rank) continue;  // a message to itself is within its own stream
    const bool is_root = part.root == rank;
    anyplace_layer_meeting meeting{};
    meeting.ranks = count;
    meeting.gives = meeting.takes = 1;
    Hash hash;
    hash.add(here_->communicator);
    if (part.is_between_two()) {
      const bool sends = part.what == Collective::send;
      const std::pair<int, int> way = sends ? std::pair(rank, part.root) : std::pair(part.root, rank);
      hash.add(static_cast<std::uint64_t>(way.first) * static_cast<std::uint64_t>(size) +
               static_cast<std::uint64_t>(way.second) + 1);
      meeting.id = hash.add(++messages_[way]).value();
      meeting.ranks = 2;
      meeting.gives = sends ? 1 : 0;
      meeting.takes = sends ? 0 : 1;
    } else {
      meeting.id = hash.add(0).add(++collectives_).value();
      if (part.what == Collective::broadcast) meeting.gives = is_root ? 1 : 0, meeting.takes = is_root ? 0 : 1;
      if (part.what == Collective::reduce) meeting.gives = is_root ? 0 : 1, meeting.takes = is_root ? 1 : 0;
    }
    met.push_back(meeting);
  }
  return met;
}

}  // namespace anyplace::detail
