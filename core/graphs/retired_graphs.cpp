// SPDX-License-Identifier: Apache-2.0
#include "graphs/retired_graphs.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "graphs/graph_state.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

using Exec = std::shared_ptr<GraphExecState>;

struct RetiredGraphs {
  std::mutex mutex;        // guards all; a leaf
  std::vector<Exec*> all;  ///< whoever takes one out of the list ends and deletes it
  std::vector<Exec> kept;  ///< those that may never end, for leak checkers to find
};
NoDestructor<RetiredGraphs> all_retired;

bool take_out(Exec* retired) noexcept {
  const std::lock_guard lock(all_retired.value.mutex);
  return std::erase(all_retired.value.all, retired) != 0;
}

/// Empty if somebody else has taken it out.
Exec look_at(Exec* retired) noexcept {
  const std::lock_guard lock(all_retired.value.mutex);
  const std::vector<Exec*>& all = all_retired.value.all;
  return std::find(all.begin(), all.end(), retired) != all.end() ? *retired : nullptr;
}

void keep_for_good(Exec exec) noexcept {
  const std::lock_guard lock(all_retired.value.mutex);
  try {
    all_retired.value.kept.push_back(exec);
  } catch (const std::bad_alloc&) {
    leak(std::move(exec));
  }
}

/// Of a lost device nobody can tell whether a launch still calls a function: what it would call stays.
void end(Exec exec) noexcept {
  const bool by_backend = exec->native != nullptr || !exec->former.empty();
  const bool lost = exec->device->lost.load(std::memory_order_relaxed);
  if (lost && exec->last && by_backend && exec->content->calls_host) keep_for_good(std::move(exec));
}

/// A step of the polling thread.
bool end_if_finished(Exec* retired) noexcept {
  {
    const Exec exec = look_at(retired);
    if (exec == nullptr) return true;
    if (!is_finished(*exec)) return false;
  }
  post_to_service([retired] {
    if (!take_out(retired)) return;
    end(std::move(*retired));
    delete retired;
  });
  return true;
}

}  // namespace

void retire(Exec exec) noexcept {
  if (exec == nullptr) return;
  if (!process_running()) return leak(std::move(exec));
  if (!in_callback() && is_finished(*exec)) return end(std::move(exec));
  auto* const retired = new (std::nothrow) Exec(std::move(exec));
  if (retired == nullptr) return leak(std::move(exec));
  try {
    const std::lock_guard lock(all_retired.value.mutex);
    all_retired.value.all.push_back(retired);
  } catch (const std::bad_alloc&) {  // it stays, with all that it has
    return;
  }
  poll_in_service([retired]() noexcept { return end_if_finished(retired); });
}

void end_retired_graphs() noexcept {
  std::vector<Exec*> all;
  {
    const std::lock_guard lock(all_retired.value.mutex);
    all.swap(all_retired.value.all);
  }
  for (Exec* const retired : all) {
    Exec exec = std::move(*retired);
    delete retired;
    if (is_finished(*exec)) {
      end(std::move(exec));
    } else {
      keep_for_good(std::move(exec));
    }
  }
}

}  // namespace anyplace::detail
