// SPDX-License-Identifier: Apache-2.0
//
// What is known of the calling thread: its name in reports, the host function that it runs, the arguments that were
// declared for its next launch, and whether the core makes calls of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "call_chains.h"
#include "objects.h"
#include "other_threads.h"

namespace anyplace::validate {

struct GraphHostFunction;

struct Declared {
  std::uint32_t access = 0;
  Range range;
};

struct ThreadState {
  std::string name;
  std::uint32_t number = 0;  ///< set with the name
  std::vector<Declared> declared;
  int core_calls = 0;
  /// The stream whose host function runs on this thread, as it was when that was submitted; null if none does.
  Stream* at = nullptr;
  GraphHostFunction* in_graph = nullptr;  ///< the graph's host function that runs on this thread
  CallingThread calling;
  CallChains chains;  ///< stacks that the thread's calls came from (site.cpp)
};

ThreadState& this_thread();
/// "main", or the number of the thread among those that called: "thread 2".
const std::string& thread_name();

}  // namespace anyplace::validate
