// SPDX-License-Identifier: Apache-2.0
//
// What is to be done when a thread ends. Not by destructors of thread_local objects: those are registered by the C
// library, which ends the process when it has no memory for that.
#pragma once

namespace anyplace::detail {

/// Declare it constinit thread_local. `run` is called once, on the thread that ends, after the destructors of its
/// thread_local objects; never for the thread that calls exit().
struct ThreadEndTask {
  void (*run)() noexcept = nullptr;
  ThreadEndTask* next = nullptr;
  bool added = false;
};

/// False if there is no memory for it, or if the thread is ending and has run its tasks: then do without. Idempotent.
bool at_thread_end(ThreadEndTask& task) noexcept;

}  // namespace anyplace::detail
