// SPDX-License-Identifier: Apache-2.0
//
// The choices of the user of `anyplace top`: the order, a filter, how far the list of processes is scrolled. Keys
// change them. Nothing here knows of a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "top_snapshot.h"

namespace anyplace::tool {

enum class SortKey {
  place,        ///< by backend and number; processes by their device, the largest first
  utilization,  ///< the busiest first
  memory,       ///< the fullest first
  temperature,  ///< the hottest first
  power,        ///< the most watts first
  pid,          ///< processes by number
  name,         ///< by name
};

std::span<const SortKey> all_sort_keys() noexcept;
const char* to_string(SortKey key) noexcept;
/// The key of that name; nothing for another text.
std::optional<SortKey> sort_key(std::string_view text) noexcept;

struct TopState {
  SortKey sort = SortKey::place;
  std::string filter;   ///< the text that a process's line has to contain; "": every process is shown
  bool typing = false;  ///< pressed keys go into the filter
  std::size_t first_process = 0;
};

/// A process with the device that it is on.
struct TopProcess {
  std::string place;
  DeviceProcess process;
};

/// The devices in the order of `state`. Unknown figures come last.
std::vector<TopDevice> sorted_devices(const TopSnapshot& snapshot, const TopState& state);
/// The processes that the filter lets through, in the order of `state`.
std::vector<TopProcess> shown_processes(const TopSnapshot& snapshot, const TopState& state);

/// A key that was pressed. A character is its own number; keys without a character have these.
enum SpecialKey : int { key_up = 0x110000, key_down, key_page_up, key_page_down, key_home, key_backspace };

enum class KeyResult {
  ignored,
  changed,  ///< the screen has to be drawn again
  sample,   ///< the devices have to be sampled now
  quit,
};

/// Handles a key: q quits, s goes on to the next order, / begins a filter (Enter ends it, Escape drops it), the arrows
/// scroll, r or a space samples now.
KeyResult press(TopState& state, int key);

}  // namespace anyplace::tool
