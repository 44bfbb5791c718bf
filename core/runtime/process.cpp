// SPDX-License-Identifier: Apache-2.0
// Defines the state that process.h declares. exit.cpp changes the phase.
#include "runtime/process.h"

namespace anyplace::detail {

std::atomic<Phase> process_phase{Phase::running};
constinit thread_local CallState call_state;

}  // namespace anyplace::detail
