// SPDX-License-Identifier: Apache-2.0
// What stands in for the rest of the core, so that a fuzz target needs no backends. The process counts as forked: then
// bad places look at no directory for a suggestion, and the parser is all that runs.
#include <cstdlib>

#include "runtime/call.h"
#include "runtime/process.h"
#include "runtime/shortage.h"

namespace anyplace::detail {

std::atomic<Phase> process_phase{Phase::forked};
constinit thread_local CallState call_state;

void refuse_call(const char*) { std::abort(); }
void fail_for_now(std::string, const char*, const std::string&, int) { std::abort(); }

}  // namespace anyplace::detail
