// SPDX-License-Identifier: Apache-2.0
//
// A Profile has the figures of a real device, from which profile_model.h computes what operations take. It is read from
// JSON (docs/profile.schema.json); the files of profiles/ are those that come with the library, and part of the plugin.
//
// In a file each figure stands beside its source: {"value": 3.35e12, "source": "data_sheet"}, where "sources" says what
// "data_sheet" is. A figure without a source is refused. A file with a "base" has that profile's figures where it has
// none of its own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>

namespace anyplace::cpu_sim {

/// A way for bytes, in one direction.
struct ProfileLink {
  double bytes_per_second = 0;  ///< It is shared by the copies that use the link at one time.
  double latency_ns = 0;        ///< It passes before the first byte of each copy.
};

/// What a launch of a kernel needs.
struct KernelCost {
  double launch_ns = -1;        ///< If it isn't negative, each launch takes this time.
  double bytes_per_thread = 8;  ///< So many bytes of the device's memory are read or written.
  double flops_per_thread = 0;
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
  double call_ns = 0;    ///< A call that submits, asks or waits keeps the host's thread so long.
  std::map<std::string, KernelCost> kernels;  ///< by their names
  KernelCost other_kernels;                   ///< those that aren't among them
};

/// Its text begins with the file's name and the line: "h100.json:12: ...".
struct ProfileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads a profile from JSON. `file` is for messages. Throws ProfileError: for text that isn't JSON, keys that are
/// unknown or missing, figures that aren't positive or have no source, and a base that doesn't come with the library.
Profile parse_profile(const std::string& text, const std::string& file);

/// Reads the profile that comes with the library under that name, or that is in that file, whose path has a slash or
/// ends with .json. Throws ProfileError for another name, which tells the known ones, and a file that can't be read,
/// else as parse_profile(). Where the plugin was built without nlohmann-json, it always throws.
Profile load_profile(const std::string& name_or_path);

/// A profile that comes with the library: its name and its JSON.
struct ProfileText {
  const char* name;
  const char* text;
};
std::span<const ProfileText> profile_texts() noexcept;

}  // namespace anyplace::cpu_sim
