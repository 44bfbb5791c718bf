// SPDX-License-Identifier: Apache-2.0
// Signals that end a run early are remembered, so that the report is still made.
#include <signal.h>

#include "conformance.h"

namespace anyplace::conformance {
namespace {

volatile sig_atomic_t caught = 0;

extern "C" void remember(int number) { caught = number; }

}  // namespace

void catch_interruptions() noexcept {
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = remember;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

int interrupted() noexcept { return caught; }

}  // namespace anyplace::conformance
