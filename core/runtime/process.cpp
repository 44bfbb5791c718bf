// SPDX-License-Identifier: Apache-2.0
// What process.h declares. How the phase changes is in exit.cpp.
#include "runtime/process.h"

namespace anyplace::detail {

std::atomic<Phase> process_phase{Phase::running};
constinit thread_local CallState call_state;

}  // namespace anyplace::detail
