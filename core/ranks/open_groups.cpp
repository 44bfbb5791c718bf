// SPDX-License-Identifier: Apache-2.0
#include "ranks/open_groups.h"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/thread_end.h"

namespace anyplace::detail {
namespace {

/// It is null on threads that never opened a group, so that an operation finds out fast that there is none.
constinit thread_local std::vector<OpenGroup>* own_groups = nullptr;
void free_groups() noexcept { delete std::exchange(own_groups, nullptr); }
constinit thread_local ThreadEndTask groups_end{free_groups};

}  // namespace

OpenGroup* find_open_group(const std::shared_ptr<CommunicatorState>& state) noexcept {
  if (own_groups == nullptr) return nullptr;
  for (OpenGroup& group : *own_groups) {
    if (group.of.lock() == state) return &group;
  }
  return nullptr;
}

OpenGroup& open_group(const std::shared_ptr<CommunicatorState>& state) {
  if (OpenGroup* const group = find_open_group(state)) return *group;
  if (own_groups == nullptr) {
    if (!at_thread_end(groups_end)) throw std::bad_alloc();
    own_groups = new std::vector<OpenGroup>;
  }
  std::erase_if(*own_groups, [](const OpenGroup& group) { return group.of.expired(); });
  return own_groups->emplace_back(OpenGroup{state, {}, {}, 0});
}

OpenGroup close_group(OpenGroup* group) noexcept {
  OpenGroup closed = std::move(*group);
  own_groups->erase(own_groups->begin() + (group - own_groups->data()));
  return closed;
}

}  // namespace anyplace::detail
