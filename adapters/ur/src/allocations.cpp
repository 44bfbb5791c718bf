// SPDX-License-Identifier: Apache-2.0
#include "allocations.h"

#include <mutex>

namespace anyplace_ur {

void Allocations::add(Allocation allocation) {
  const std::unique_lock lock(mutex_);
  const std::uint64_t base = allocation.info.base;
  by_base_.insert_or_assign(base, std::move(allocation));
}

std::optional<Allocation> Allocations::take(std::uint64_t base) {
  const std::unique_lock lock(mutex_);
  const auto found = by_base_.find(base);
  if (found == by_base_.end()) return std::nullopt;
  Allocation allocation = std::move(found->second);
  by_base_.erase(found);
  return allocation;
}

std::optional<AllocationInfo> Allocations::find(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  auto next = by_base_.upper_bound(address);
  if (next == by_base_.begin()) return std::nullopt;
  const AllocationInfo& info = std::prev(next)->second.info;
  if (address - info.base >= info.size) return std::nullopt;
  return info;
}

Allocations& allocations() {
  static Allocations* const instance = new Allocations;  // what is leaked is freed by the process's end
  return *instance;
}

}  // namespace anyplace_ur
