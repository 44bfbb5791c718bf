// SPDX-License-Identifier: Apache-2.0
//
// The rules in force, for all backends of the process.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "rule_text.h"

namespace anyplace::faults {

/// What the rules do to a call.
struct Decision {
  /// The rule that fails the call; null: none does.
  std::shared_ptr<const Rule> rule;
  /// Whether the rule hit nothing before. Of two calls at the same time both may be the first.
  bool is_first_hit = false;
  std::uint64_t delay_before_ns = 0;
  std::uint64_t delay_after_ns = 0;

  bool fails(Moment moment) const noexcept { return rule != nullptr && rule->moment == moment; }
};

/// Every member may be called from any thread.
class RuleSet {
 public:
  /// Counts the call as a use of all rules that it fits.
  Decision decide(std::size_t entry, const Subject& subject);

  /// Adds rules behind the others.
  void add(const Rules& rules);
  void clear();
  /// {"rules": [{"rule": "memory_allocate=out_of_memory nth=3", "uses": 5, "hits": 1, "first_hit":
  /// "memory_allocate"}]}, where first_hit is null if there was no hit.
  nlohmann::ordered_json counts() const;

 private:
  /// The rules of each entry, in their order. Never changed once it is in force.
  struct Table {
    Rules all;
    std::array<Rules, ANYPLACE_ENTRY_COUNT> by_entry;
  };
  std::shared_ptr<const Table> table() const;
  void replace(Rules all);

  mutable std::mutex mutex_;  // guards table_; a leaf
  std::shared_ptr<const Table> table_ = std::make_shared<Table>();
};

}  // namespace anyplace::faults
