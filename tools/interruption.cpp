// SPDX-License-Identifier: Apache-2.0
#include "interruption.h"

#include <signal.h>

#include <cstring>

namespace anyplace::tool {
namespace {

volatile sig_atomic_t caught = 0;

extern "C" void remember_interruption(int number) { caught = number; }

}  // namespace

void catch_interruptions() noexcept {
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = remember_interruption;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

int interrupted() noexcept { return caught; }

std::string signal_text(int number) {
  const char* const name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace anyplace::tool
