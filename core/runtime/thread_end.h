// SPDX-License-Identifier: Apache-2.0
//
// Tasks that run when a thread ends. Destructors of thread_local objects can't be used: the C library registers them,
// and ends the process when it has no memory for that.
#pragma once

namespace anyplace::detail {

/// Declare it constinit thread_local. `run` is called once, on the thread that ends, after the destructors of its
/// thread_local objects; never for the thread that calls exit().
struct ThreadEndTask {
  void (*run)() noexcept = nullptr;
  ThreadEndTask* next = nullptr;
  bool added = false;
};

/// Has `task` run when the calling thread ends. False if there is no memory for it, or if the thread is ending and has
/// run its tasks; the caller must then manage without the task. Idempotent.
bool at_thread_end(ThreadEndTask& task) noexcept;

}  // namespace anyplace::detail
