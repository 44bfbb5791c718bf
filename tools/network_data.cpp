// SPDX-License-Identifier: Apache-2.0
#include "tools/network_data.h"

#include <stdexcept>
#include <string>

namespace anyplace::tool {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
std::uint64_t mixed(std::uint64_t bits) noexcept {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

/// What a rank has in a block before the collective.
std::uint64_t given(int rank, std::uint32_t block) noexcept {
  return mixed((static_cast<std::uint64_t>(rank) << 32) + block + 1);
}

}  // namespace

BlockValue added(const BlockValue& first, const BlockValue& second) noexcept {
  return {first.sum + second.sum, mixed(first.order * 3 + mixed(second.order))};
}

NetworkData::NetworkData(const Ranks& ranks, const Algorithm& algorithm)
    : ranks_(ranks), algorithm_(algorithm), blocks_(algorithm.blocks(ranks)) {
  const int n = ranks.count();
  values_.resize(static_cast<std::size_t>(n));
  for (int rank = 0; rank < n; ++rank) {
    std::vector<BlockValue>& own = of(rank);
    own.resize(blocks_);
    const auto give = [&](std::uint32_t block) { own[block] = {given(rank, block), given(rank, block)}; };
    const auto self = static_cast<std::uint32_t>(rank), half = blocks_ / 2;
    switch (algorithm.collective) {
      case CollectiveKind::broadcast:
        for (std::uint32_t block = 0; rank == 0 && block < blocks_; ++block) give(block);
        break;
      case CollectiveKind::all_gather:
        give(algorithm.own_block(ranks, rank));
        break;
      case CollectiveKind::all_to_all:
        for (std::uint32_t block = 0; block < half; ++block) give(block);
        own[half + self] = own[self];
        break;
      default:
        for (std::uint32_t block = 0; block < blocks_; ++block) give(block);
    }
  }
}

std::uint64_t NetworkData::sum_of(std::uint32_t block) const noexcept {
  std::uint64_t sum = 0;
  for (int rank = 0; rank < ranks_.count(); ++rank) sum += given(rank, block);
  return sum;
}

void NetworkData::check(int rank, std::uint32_t block, std::uint64_t expected) const {
  if (values_[static_cast<std::size_t>(rank)][block].sum == expected) return;
  throw std::logic_error(std::string("the plan of ") + algorithm_.name + " is wrong: block " + std::to_string(block) +
                         " of rank " + std::to_string(rank) + " isn't what it has to be");
}

void NetworkData::check() const {
  const int n = ranks_.count();
  const auto for_all_ranks = [&](auto check_rank) {
    for (int rank = 0; rank < n; ++rank) check_rank(rank);
  };
  switch (algorithm_.collective) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce:
      for (std::uint32_t block = 0; block < blocks_; ++block) {
        const std::uint64_t expected = sum_of(block);
        const int results = algorithm_.collective == CollectiveKind::reduce ? 1 : n;
        for (int rank = 0; rank < results; ++rank) check(rank, block, expected);
      }
      break;
    case CollectiveKind::reduce_scatter:
      for_all_ranks([&](int rank) {
        const std::uint32_t block = algorithm_.own_block(ranks_, rank);
        check(rank, block, sum_of(block));
      });
      break;
    case CollectiveKind::all_gather:
      for_all_ranks([&](int owner) {
        const std::uint32_t block = algorithm_.own_block(ranks_, owner);
        for_all_ranks([&](int rank) { check(rank, block, given(owner, block)); });
      });
      break;
    case CollectiveKind::broadcast:
      for_all_ranks([&](int rank) {
        for (std::uint32_t block = 0; block < blocks_; ++block) check(rank, block, given(0, block));
      });
      break;
    case CollectiveKind::all_to_all:
      for_all_ranks([&](int rank) {
        for (int from = 0; from < n; ++from) {
          const std::uint32_t block = blocks_ / 2 + static_cast<std::uint32_t>(from);
          check(rank, block, given(from, static_cast<std::uint32_t>(rank)));
        }
      });
      break;
  }
}

bool NetworkData::same_order() const {
  if (algorithm_.collective != CollectiveKind::all_reduce) return true;
  for (const std::vector<BlockValue>& own : values_) {
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      if (own[block].order != values_.front()[block].order) return false;
    }
  }
  return true;
}

}  // namespace anyplace::tool
