// SPDX-License-Identifier: Apache-2.0
//
// Samples the devices for `anyplace top`, in this process. A backend that wasn't named is first asked in a child
// process, as `anyplace devices` does, so that one whose plugin crashes or hangs is left out.
#pragma once

#include <anyplace/anyplace.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "top_snapshot.h"

namespace anyplace::tool {

class TopSampler {
 public:
  /// `places` are places, or names of backends, which stand for all their devices; empty: every device of every
  /// backend. Throws anyplace::Error, with invalid_argument for a text that is no place, and as Device does.
  TopSampler(const std::vector<std::string>& places, std::chrono::milliseconds probe_timeout);

  bool empty() const noexcept { return watched_.empty(); }
  /// A line for each backend that can't be used, for standard error; "" if there is none, or if places were named.
  const std::string& notes() const noexcept { return notes_; }

  /// Samples all devices, one after the other. A device that can't be sampled has a problem, and the others are sampled
  /// all the same.
  TopSnapshot sample();

 private:
  struct Watched {
    Device device;
    std::string name;
    std::optional<DeviceSample> last;
  };

  void add(const std::string& place);
  void watch(const Device& device);
  void watch_all(const std::string& backend);
  void find_all(std::chrono::milliseconds probe_timeout);
  static TopDevice sample_one(Watched& watched);

  std::vector<Watched> watched_;
  std::string notes_;
};

}  // namespace anyplace::tool
