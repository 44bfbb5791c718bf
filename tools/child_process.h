// SPDX-License-Identifier: Apache-2.0
//
// Runs this program once more as a child that may crash, hang or write nonsense. The child writes its result to one
// descriptor; its standard output and error are captured, its standard input is empty. A child that adds nothing to its
// result for the time of the limit is ended, as is one that writes without end; no process is left behind.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace anyplace::tool {

/// The descriptor that the child writes its result to.
constexpr int child_result_descriptor = 3;

struct ChildResult {
  enum class End {
    exited,       ///< `number` is its exit status
    signalled,    ///< `number` is the signal
    timed_out,    ///< it was killed when it had added nothing to its result for as long as the limit
    too_much,     ///< it was killed because it wrote without end
    not_started,  ///< `number` is the errno
  };
  End end = End::not_started;
  int number = 0;
  std::string result;
  std::string output;  ///< the end of what it wrote to standard output and error
};

/// Runs /proc/self/exe with `arguments` (without argv[0]) in a process group of its own. `limit` is the time between
/// two parts of the result, because a child that reports 4,096 devices may take longer in all. Only one thread may call
/// it at a time.
ChildResult run_child(const std::vector<std::string>& arguments, std::chrono::milliseconds limit);

}  // namespace anyplace::tool
