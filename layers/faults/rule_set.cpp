// SPDX-License-Identifier: Apache-2.0
#include "rule_set.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace anyplace::faults {

std::shared_ptr<const RuleSet::Table> RuleSet::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

Decision RuleSet::decide(std::size_t entry, const Subject& subject) {
  const std::shared_ptr<const Table> table = this->table();
  Decision decision;
  for (const std::shared_ptr<Rule>& rule : table->by_entry[entry]) {
    const bool is_first_hit = rule->hits.load(std::memory_order_relaxed) == 0;
    if (!rule->fits(subject) || !rule->hit(entry)) continue;
    (rule->moment == Moment::after ? decision.delay_after_ns : decision.delay_before_ns) += rule->delay_ns;
    if (decision.rule != nullptr || rule->status == ANYPLACE_STATUS_OK) continue;
    decision.rule = rule;
    decision.is_first_hit = is_first_hit;
  }
  return decision;
}

void RuleSet::replace(Rules all) {
  auto made = std::make_shared<Table>();
  made->all = std::move(all);
  for (const std::shared_ptr<Rule>& rule : made->all) {
    for (std::size_t entry = 0; entry < ANYPLACE_ENTRY_COUNT; ++entry) {
      if (rule->entries.test(entry)) made->by_entry[entry].push_back(rule);
    }
  }
  const std::lock_guard lock(mutex_);
  table_ = std::move(made);
}

void RuleSet::add(const Rules& rules) {
  Rules all = table()->all;
  all.insert(all.end(), rules.begin(), rules.end());
  replace(std::move(all));
}

void RuleSet::clear() { replace({}); }

nlohmann::ordered_json RuleSet::counts() const {
  nlohmann::ordered_json rules = nlohmann::ordered_json::array();
  for (const std::shared_ptr<Rule>& rule : table()->all) {
    const std::string_view first_hit = rule->first_hit();
    rules.push_back({{"rule", rule->text}, {"uses", rule->uses.load()}, {"hits", rule->hits.load()}});
    rules.back()["first_hit"] = first_hit.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(first_hit);
  }
  return {{"rules", std::move(rules)}};
}

}  // namespace anyplace::faults
