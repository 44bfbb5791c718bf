// SPDX-License-Identifier: Apache-2.0
#include "thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace anyplace::validate {

ThreadState& this_thread() {
  thread_local ThreadState state;
  return state;
}

const std::string& thread_name() {
  static std::atomic<std::uint32_t> others{1};
  ThreadState& thread = this_thread();
  if (thread.name.empty()) {
    const bool is_main = ::syscall(SYS_gettid) == ::getpid();
    thread.number = is_main ? 1 : others.fetch_add(1) + 1;
    // A program that makes threads all day doesn't get a name for each, since names are kept.
    constexpr std::uint32_t most_named = 1000;
    const bool is_named = thread.number <= most_named;
    if (!is_named) thread.number = most_named + 1;
    thread.name = is_main ? "main" : is_named ? "thread " + std::to_string(thread.number) : "a later thread";
  }
  return thread.name;
}

}  // namespace anyplace::validate
