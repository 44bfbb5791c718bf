// SPDX-License-Identifier: Apache-2.0
// Numbers the streams of a program's own trace: each handle gets an index, in the order in which they first appear.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "input_file.h"
#include "trace.h"

namespace anyplace::tool {

class StreamIndices {
 public:
  /// The index of a stream's handle. Throws InputError beyond max_stream_index.
  std::uint16_t of(std::uint64_t handle) {
    const auto [found, added] = indices_.try_emplace(handle, static_cast<std::uint16_t>(indices_.size()));
    if (added && found->second > max_stream_index) {
      throw InputError("there are more than " + std::to_string(max_stream_index + 1) + " streams");
    }
    return found->second;
  }

 private:
  std::unordered_map<std::uint64_t, std::uint16_t> indices_;
};

}  // namespace anyplace::tool
