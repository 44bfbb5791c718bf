// SPDX-License-Identifier: Apache-2.0
// The streams of a program's own trace: a handle becomes the index of a stream, in the order in which they come.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "input_file.h"
#include "trace.h"

namespace anyplace::tool {

class StreamIndices {
 public:
  /// Throws InputError beyond max_stream_index.
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
