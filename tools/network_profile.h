// SPDX-License-Identifier: Apache-2.0
//
// A NetworkProfile has the figures of machines and of the network between them, from which network_run.h computes what
// a collective takes. It is read from JSON (docs/network.schema.json); the files of networks/ are part of the command.
//
// In a file each figure stands beside its source, as in the profiles of devices: {"value": 50e9, "source": "manual"},
// where "sources" says what "manual" is. A figure without a source is refused.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace anyplace::tool {

/// Rates are bytes a second in one direction, times are nanoseconds.
struct NetworkProfile {
  /// Groups of so many neighbouring machines are joined to each other by an uplink.
  struct Level {
    std::uint32_t machines = 1;
    double uplink_bytes_per_second = 0;  ///< of a group, up and down
    double latency_ns = 0;               ///< A message from one group to another takes so much longer.
  };

  std::string name;
  std::string description;
  std::uint32_t devices_per_machine = 1;
  std::uint32_t nics_per_machine = 1;  ///< Neighbouring devices share one.
  double device_bytes_per_second = 0;  ///< what a device sends to those of its machine, and what it receives
  double device_latency_ns = 0;
  double pair_bytes_per_second = 0;  ///< of the link between two devices of a machine; 0: no link limits pairs
  double nic_bytes_per_second = 0;
  double network_latency_ns = 0;       ///< between two machines
  double memory_bytes_per_second = 0;  ///< of a device, which adds what it received; 0: adding takes no time
  std::vector<Level> levels;           ///< from the machines up
};

/// Its text begins with the file's name and the line: "network.json:12: ...".
struct NetworkProfileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads a profile from JSON. `file` is for messages. Throws NetworkProfileError: for text that isn't JSON, keys that
/// are unknown or missing, figures that aren't positive or have no source, NICs that don't divide the devices, and
/// levels that don't divide each other.
NetworkProfile parse_network_profile(const std::string& text, const std::string& file);

/// Reads the profile that comes with the command under that name, or that is in that file, whose path has a slash or
/// ends with .json. Throws NetworkProfileError for another name, which tells the known ones, and a file that can't be
/// read, else as parse_network_profile().
NetworkProfile load_network_profile(const std::string& name_or_path);

/// A profile that comes with the command: its name and its JSON.
struct NetworkText {
  const char* name;
  const char* text;
};
std::span<const NetworkText> network_texts() noexcept;

}  // namespace anyplace::tool
