// SPDX-License-Identifier: Apache-2.0
//
// What a test decides about the backends sim_b and sim_c: each is cpu_sim's plugin, opened a second time, behind a
// table from which things are missing or fail. The test makes a Forward before the first use of the name; the plugin
// finds it through an environment variable, which works because each test is a process of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"

namespace test {

struct Forward {
  // -- Read when the plugin is loaded.
  bool gates = true;
  bool host_functions = true;
  std::uint64_t absent_capabilities = 0;  ///< bits; their entries stay

  // -- Read at every call.
  std::atomic<bool> timed_sync{true};  ///< false: a finite timeout is UNSUPPORTED
  std::atomic<int> lost_device{-1};    ///< its entries, but for those that end something, answer DEVICE_LOST
  std::atomic<int> fail_next{0};       ///< a status, for the next entry that submits something
  std::atomic<int> fail_after{0};      ///< fail_next is for the entry after so many more
  std::atomic<bool> silent{false};     ///< fail_next leaves no message
  std::atomic<int> fail_query{0};      ///< a status, for every stream_query, with a message
  std::atomic<bool> was_reset{false};  ///< set by device_reset

  std::atomic<void (*)()> before_event_query{nullptr};

  std::atomic<std::uint32_t> processes{0};      ///< so many use each device, by numbers from 1 on; 0: what cpu_sim says
  std::atomic<std::uint32_t> new_processes{0};  ///< so many more after each call

  // -- Counted.
  std::atomic<int> calls_when_lost{0};  ///< of entries that answered DEVICE_LOST
  std::atomic<int> ended_when_lost{0};  ///< destroy and free entries called for the lost device
  std::atomic<int> live_streams{0};
  std::atomic<int> live_events{0};
  std::atomic<int> live_gates{0};
  std::atomic<int> live_graphs{0};
  std::atomic<int> graphs_at_reset{0};  ///< live_graphs when device_reset was called
  std::atomic<int> gates_made{0};

  /// The core's side, to report faults with.
  const anyplace_host* host = nullptr;

  static std::string variable(const std::string& name) { return "ANYPLACE_TEST_FORWARD_" + name; }
  /// Makes it the one of backend `name`, sim_b or sim_c.
  void install(const std::string& name) {
    ::setenv(variable(name).c_str(), std::to_string(reinterpret_cast<std::uintptr_t>(this)).c_str(), 1);
  }
};

/// Lives as long as the process: the plugin reads it until the backends are shut down.
inline Forward& new_forward() {
  static auto& all = *new std::vector<std::unique_ptr<Forward>>;
  return *all.emplace_back(std::make_unique<Forward>());
}

}  // namespace test
