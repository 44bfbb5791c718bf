// SPDX-License-Identifier: Apache-2.0
//
// How deep the thread is in commands (Protection::enter). A signal handler reads it.
#pragma once

namespace anyplace::cpu_sim {

struct CommandDepth {
  static constinit thread_local unsigned depth;
  static constinit thread_local const char* what;
};

}  // namespace anyplace::cpu_sim
