// SPDX-License-Identifier: Apache-2.0
//
// How the double is configured: the environment, read once, at the first call (README.md lists the variables).
#pragma once

#include "../engine/settings.h"

namespace anyplace::doubles::levelzero {

struct Config : Settings {
  uint32_t api_version = 0;  // as ZE_MAKE_VERSION makes it
  int roots = 2;
  int sub_devices = 0;          // of each
  uint64_t largest_block = 0;   // 0: as big as the memory
  uint32_t queues = 4;          // of the group for compute; 0: none
  uint64_t ticks = 19'200'000;  // of the timer, each second; 0: it says none
  uint32_t timestamp_bits = 36;
  uint32_t fill_pattern = 16;        // the longest
  uint32_t spirv_version = 0;        // the newest that devices take, as ZE_MAKE_VERSION makes it
  bool stuck = false;                // no event is ever seen to be signalled
  bool fragile_end = false;          // who calls while the driver ends, or later, ends the process
  std::vector<std::string> slow;     // entries that take their time
  uint64_t slow_milliseconds = 20;   // so much of it
  bool one_address = false;          // physical memory has one address: the last that it was mapped at
  std::string ipc = "descriptor";    // what a handle for other processes holds; "none": there are none
  std::vector<std::string> nothing;  // entries that answer success and do nothing; "all": all of them
};

const Config& config();

/// Flags of newer versions that this one has.
bool has_in_order_lists() noexcept;

}  // namespace anyplace::doubles::levelzero
