// SPDX-License-Identifier: Apache-2.0
//
// A Profile has the figures of a real device, from which profile_model.h computes what operations take. It is read from
// JSON (docs/profile.schema.json); the files of profiles/ are those that come with the library.
//
// In a file each figure stands beside its source: {"value": 3.35e12, "source": "data_sheet"}, where "sources" says what
// "data_sheet" is. A figure without a source is refused.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace anyplace::cpu_sim {

/// A way for bytes, in one direction.
struct ProfileLink {
  double bytes_per_second = 0;  ///< It is shared by the copies that use the link at one time.
  double latency_ns = 0;        ///< It passes before the first byte of each copy.
};

struct Profile {
  std::string name;
  std::string description;
  std::uint32_t devices = 1;
  std::uint32_t concurrent_kernels = 1;     ///< of one device; they share it equally
  std::uint32_t copy_engines = 1;           ///< of one device, for each direction
  std::uint32_t devices_per_host_link = 1;  ///< so many neighbours share a link to the host
  std::uint64_t memory_bytes = 0;
  double memory_bytes_per_second = 0;
  double flops_per_second = 0;
  ProfileLink to_device;
  ProfileLink to_host;
  ProfileLink peer;      ///< what a device sends to all peers, and what it receives; 0 bytes a second: there is no link
  double launch_ns = 0;  ///< It passes between a submission and the beginning of an operation that waits for nothing.
  double call_ns = 0;    ///< A submission keeps the host's thread so long.
};

/// Its text begins with the file's name and the line: "h100.json:12: ...".
struct ProfileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads a profile from JSON. `file` is for messages. Throws ProfileError: for text that isn't JSON, keys that are
/// unknown or missing, figures that aren't positive or have no source.
Profile parse_profile(const std::string& text, const std::string& file);

}  // namespace anyplace::cpu_sim
