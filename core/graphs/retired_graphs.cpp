// SPDX-License-Identifier: Apache-2.0
#include "graphs/retired_graphs.h"

#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "graphs/graph_exec.h"
#include "graphs/graph_state.h"
#include "plugins/device_properties.h"
#include "runtime/backend.h"
#include "runtime/layer_notes.h"
#include "runtime/no_destructor.h"
#include "streams/helper_streams.h"

namespace anyplace::detail {
namespace {

constexpr const char* operation = "~GraphExec";

using Retired = std::shared_ptr<RetiredWork>;

struct RetiredGraphs {
  std::mutex mutex;  // guards all; a leaf
  Retired all;       ///< a list; the thread that takes an element out ends it
  Retired kept;      ///< a list of elements that may never end, where a leak checker finds them
};
NoDestructor<RetiredGraphs> all_retired;

/// The element; null if another thread has taken it out of the list.
Retired look_at(const RetiredWork* retired) noexcept {
  const std::lock_guard lock(all_retired.value.mutex);
  Retired found = all_retired.value.all;
  while (found != nullptr && found.get() != retired) found = found->next;
  return found;
}

bool take_out(const RetiredWork& retired) noexcept {
  const std::lock_guard lock(all_retired.value.mutex);
  Retired* link = &all_retired.value.all;
  while (*link != nullptr && link->get() != &retired) link = &(*link)->next;
  if (*link == nullptr) return false;
  Retired rest = std::move((*link)->next);
  *link = std::move(rest);
  return true;
}

void put_into(Retired& list, Retired work) noexcept {
  const std::lock_guard lock(all_retired.value.mutex);
  work->next = std::move(list);
  list = std::move(work);
}

bool is_finished(RetiredWork& work) noexcept {
  const CoreCalls scope;
  const DropsErrors drops;
  if (work.device->lost.load(std::memory_order_relaxed)) return true;
  if (work.last) return is_surely_idle(*work.last, operation);
  return work.done == nullptr || is_past(*work.done);
}

/// Ends work that was taken out of the list. Other threads that still have the element only look at its event. On a
/// lost device a launch may still call a host function of the content, and nobody can tell, so the content is kept
/// then.
void end(Retired work) noexcept {
  const bool lost = work->device->lost.load(std::memory_order_relaxed);
  const bool launched = work->done != nullptr || work->last;
  if (lost && launched && work->backend_calls_host) return put_into(all_retired.value.kept, std::move(work));
  const ReleaseScope scope;
  work->kept.reset();
  work->content.reset();
}

void post_end(const RetiredWork* retired) noexcept {
  post_release([retired] {
    Retired work = look_at(retired);
    if (work != nullptr && is_finished(*work) && take_out(*work)) end(std::move(work));
  });
}

/// Ends the work if its launches are done: a step of the polling thread.
bool end_if_finished(const RetiredWork* retired) noexcept {
  const Retired work = look_at(retired);
  if (work == nullptr) return true;
  if (!is_finished(*work)) return false;
  post_end(retired);
  return true;
}

/// Has a host function behind the launches end the work. False if that can't be.
bool end_behind_launches(RetiredWork& work) noexcept {
  if (work.done == nullptr) return false;
  const CoreCalls scope;
  const DropsErrors drops;
  try {
    if (!has_capability(*work.device, Capability::host_functions, operation)) return false;
    const auto helper = std::make_shared<HelperStream>(take_helper_stream(*work.device, operation));
    wait(**helper, *work.done, operation);
    launch_host_function(
        **helper,
        [helper, retired = &work] {
          post_end(retired);
          helper->reset();
        },
        no_deed(), operation);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Has the work end when its launches are done. In virtual time that is an operation as any: the polling thread acts in
/// real time, and a program would have another schedule in each run.
void arrange_end(RetiredWork& work) noexcept {
  if (is_known_in_virtual_time(*work.device) && end_behind_launches(work)) return;
  poll_in_service([retired = &work]() noexcept { return end_if_finished(retired); });
}

void wait_for(RetiredWork& work) noexcept {
  const CoreCalls scope;
  const DropsErrors drops;
  try {
    if (work.last) {
      static_cast<void>(synchronize(*work.device, ANYPLACE_FOREVER, operation));
    } else if (work.done != nullptr) {
      static_cast<void>(synchronize(*work.done, ANYPLACE_FOREVER, operation));
    }
  } catch (const std::exception&) {  // it isn't known whether the launches are done
    static_cast<void>(take_message());
  }
}

struct Found {
  Retired work;
  bool is_of_device = false;
};

/// All elements of the list. Throws bad_alloc.
std::vector<Found> find_all(const DeviceState& device) {
  std::vector<Found> found;
  const std::lock_guard lock(all_retired.value.mutex);
  for (Retired work = all_retired.value.all; work != nullptr; work = work->next) {
    found.push_back({work, uses(*work->content, device)});
  }
  return found;
}

}  // namespace

void retire(Retired work) noexcept {
  if (!process_running()) return leak(std::move(work));
  if (!in_callback() && is_finished(*work)) return end(std::move(work));
  put_into(all_retired.value.all, work);
  if (!in_callback()) return arrange_end(*work);
  post_to_service([retired = work.get()] {
    if (const Retired found = look_at(retired)) arrange_end(*found);
  });
}

void retire(std::shared_ptr<GraphExecState> exec) noexcept {
  if (exec == nullptr) return;
  if (!process_running()) return leak(std::move(exec));
  Retired work;
  {
    const std::lock_guard lock(exec->mutex);
    work = std::move(exec->retirement);
    work->device = exec->device;
    work->content = exec->content;
    work->backend_calls_host = exec->native != nullptr && exec->content->calls_host;
    if (exec->unmarked) {
      work->last = std::move(exec->last);
    } else if (exec->last) {
      work->done = exec->done;
    }
  }
  work->kept = std::move(exec);
  retire(std::move(work));
}

bool end_retired_graphs_of(const DeviceState& device, bool wait) noexcept {
  bool any = false;
  try {
    for (Found& found : find_all(device)) {
      if (wait && found.is_of_device) wait_for(*found.work);
      if (!is_finished(*found.work) || !take_out(*found.work)) continue;
      end(std::move(found.work));
      any = true;
    }
  } catch (const std::bad_alloc&) {  // the polling thread ends them later
  }
  return any;
}

void end_retired_graphs() noexcept {
  Retired all;
  {
    const std::lock_guard lock(all_retired.value.mutex);
    all.swap(all_retired.value.all);
  }
  while (all != nullptr) {
    Retired work = std::move(all);
    all = std::move(work->next);
    if (is_finished(*work)) {
      end(std::move(work));
    } else {
      put_into(all_retired.value.kept, std::move(work));
    }
  }
}

}  // namespace anyplace::detail
