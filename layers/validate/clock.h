// SPDX-License-Identifier: Apache-2.0
//
// Clock: a vector clock. It has a component for the host and one for each stream, and says up to which of a component's
// operations everything happened before. Lamport's relation by vectors is Mattern's and Fidge's; a single operation is
// compared by one component alone, as FastTrack's epochs are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace anyplace::validate {

using Component = std::uint32_t;

/// The host's threads are one component: what orders them (mutexes, joins, atomics) can't be seen from here, so their
/// calls are taken in the order in which they were made.
constexpr Component host_component = 0;

class Clock {
 public:
  std::uint64_t of(Component component) const noexcept { return component < counts_.size() ? counts_[component] : 0; }
  bool covers(Component component, std::uint64_t number) const noexcept { return of(component) >= number; }
  void set(Component component, std::uint64_t number) {
    if (component >= counts_.size()) counts_.resize(component + 1);
    counts_[component] = std::max(counts_[component], number);
  }
  /// Returns whether anything was added.
  bool join(const Clock& other) {
    if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
    bool changed = false;
    for (std::size_t i = 0; i < other.counts_.size(); ++i) {
      if (other.counts_[i] <= counts_[i]) continue;
      counts_[i] = other.counts_[i];
      changed = true;
    }
    return changed;
  }

 private:
  std::vector<std::uint64_t> counts_;
};

}  // namespace anyplace::validate
