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
  static std::atomic<unsigned> others{1};
  std::string& name = this_thread().name;
  if (name.empty()) {
    name = ::syscall(SYS_gettid) == ::getpid() ? "main" : "thread " + std::to_string(others.fetch_add(1) + 1);
  }
  return name;
}

}  // namespace anyplace::validate
