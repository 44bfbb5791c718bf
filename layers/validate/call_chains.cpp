// SPDX-License-Identifier: Apache-2.0
#include "call_chains.h"

#include <new>

namespace anyplace::validate {
namespace {

/// Whether the calling thread's stack is the chain's. The application's own frames are looked at first, since chains of
/// one group differ there.
bool still_holds(const CallChain& chain) noexcept {
  for (int i = chain.first_outside; i < chain.count; ++i) {
    if (!chain.steps[i].holds()) return false;
  }
  for (int i = 0; i < chain.first_outside; ++i) {
    if (!chain.steps[i].holds()) return false;
  }
  return chain.count != 0;
}

}  // namespace

CallChain* CallChains::find(std::uintptr_t from, std::uintptr_t caller) noexcept {
  const auto found = groups_.find(key(from, caller));
  if (found == groups_.end() || found->second.from != from) return nullptr;
  Group& group = found->second;
  std::size_t at = group.latest;
  for (std::size_t i = 0; i < group.chains.size(); ++i) {
    if (still_holds(*group.chains[at])) {
      group.latest = at;
      return group.chains[at].get();
    }
    at = at + 1 == group.chains.size() ? 0 : at + 1;
  }
  return nullptr;
}

CallChain* CallChains::add(std::uintptr_t from, std::uintptr_t caller) noexcept try {
  if (count_ == most) {
    groups_.clear();
    count_ = 0;
  }
  Group& group = groups_[key(from, caller)];
  if (group.from != from) {
    count_ -= group.chains.size();
    group = {};
    group.from = from;
  }
  group.chains.push_back(std::make_unique<CallChain>());
  ++count_;
  group.latest = group.chains.size() - 1;
  return group.chains.back().get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace anyplace::validate
