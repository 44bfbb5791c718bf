// SPDX-License-Identifier: Apache-2.0
//
// Settings: what the environment variables say, read once, at the first use.
//
//   ANYPLACE_UR_PLACES    the devices offered, in their order: cpu_sim, cuda:1,cuda:0 (default: every device there is)
//   ANYPLACE_UR_POSE_AS   opencl (default), level_zero, cuda, hip, native_cpu, offload: which of SYCL's backends the
//                         adapter says it is
//   ANYPLACE_UR_LOG       0 (default), 1 or errors, all: whether failures are written to standard error
//   ANYPLACE_UR_STREAMS   streams of a queue that is out of order, 1 to 32 (default 4)
#pragma once

#include <string>

#include <unified-runtime/ur_api.h>

namespace anyplace_ur {

enum class LogSetting { none, errors, all };

struct Settings {
  std::string places;  ///< empty: every device of every backend
  ur_backend_t backend = UR_BACKEND_OPENCL;
  LogSetting log = LogSetting::none;
  unsigned streams = 4;
  std::string problem;  ///< what is wrong with a variable, and what would be right; empty if nothing is
};

/// Never throws: a variable that makes no sense is told in `problem`, which urPlatformGet returns as its error.
const Settings& settings() noexcept;

}  // namespace anyplace_ur
