// SPDX-License-Identifier: Apache-2.0
//
// steps.h and what isn't submitted: bad input, lists, faults, time-outs, threads that end, the allocator's books,
// handles that end inside host functions, streams that the core holds back. For shortage.cpp, in parts: a process for
// each call of a part runs that part alone, where one for each call of the whole would run the whole.
#pragma once

#include <span>

#include "steps.h"

namespace sweep {

struct Places {
  std::string place, other, image;
  std::string simple;  ///< of a backend that has neither gates nor host functions
};

struct Part {
  const char* name;
  /// As run_pipeline().
  void (*run)(const Places& places);
};

/// The first begins with a process that knows no backend; the others may be run after load().
std::span<const Part> parts();
/// Makes the places' backends known, with a stream of each.
void load(const Places& places);

}  // namespace sweep
