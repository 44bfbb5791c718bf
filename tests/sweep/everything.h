// SPDX-License-Identifier: Apache-2.0
//
// steps.h and what isn't submitted: bad input, lists, faults, time-outs, threads that end, the allocator's books,
// handles that end inside host functions, streams that the core holds back. For shortage.cpp.
#pragma once

#include "steps.h"

namespace sweep {

struct Places {
  std::string place, other, image;
  std::string simple;  ///< of a backend that has neither gates nor host functions
};

/// As run_pipeline().
void run_everything(const Places& places);

}  // namespace sweep
