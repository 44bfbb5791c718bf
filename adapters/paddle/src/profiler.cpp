// SPDX-License-Identifier: Apache-2.0
//
// Paddle's profiler starts and stops every custom device's along with its own, and fails where one has none. Ours has
// nothing to add: the kernels run on the CPU, where Paddle times them itself, and a copy is timed as the call that
// makes it.
#include "entries.h"

namespace anyplace_paddle {
namespace {

C_Status profiler_initialize(C_Profiler, void** user_data) noexcept {
  *user_data = nullptr;
  return C_SUCCESS;
}
C_Status profiler_step(C_Profiler, void*) noexcept { return C_SUCCESS; }
C_Status profiler_collect_trace_data(C_Profiler, uint64_t, void*) noexcept { return C_SUCCESS; }

}  // namespace

void fill_profiler(C_DeviceInterface& table) {
  table.profiler_initialize = profiler_initialize;
  table.profiler_finalize = profiler_step;
  table.profiler_prepare_tracing = profiler_step;
  table.profiler_start_tracing = profiler_step;
  table.profiler_stop_tracing = profiler_step;
  table.profiler_collect_trace_data = profiler_collect_trace_data;
}

}  // namespace anyplace_paddle
