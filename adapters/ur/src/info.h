// SPDX-License-Identifier: Apache-2.0
//
// Answers to the queries of UR, all of which have the same three parameters: the size of what the caller has room for,
// where to write, and where to tell the size that is needed.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "failure.h"

namespace anyplace_ur {

class InfoWriter {
 public:
  /// Throws what UR says of sizes and pointers that don't go together.
  InfoWriter(std::size_t size, void* value, std::size_t* size_needed)
      : size_(size), value_(value), size_needed_(size_needed) {
    require(!(size == 0 && value != nullptr), UR_RESULT_ERROR_INVALID_SIZE, "there is no room for the answer");
    require(!(size != 0 && value == nullptr), UR_RESULT_ERROR_INVALID_NULL_POINTER, "there is nowhere to write to");
    require(value != nullptr || size_needed != nullptr, UR_RESULT_ERROR_INVALID_NULL_POINTER,
            "neither the answer nor its size is asked for");
  }

  void bytes(const void* answer, std::size_t size) const {
    if (value_ != nullptr) {
      require(size_ >= size, UR_RESULT_ERROR_INVALID_SIZE, "there is too little room for the answer");
      if (size != 0) std::memcpy(value_, answer, size);
    }
    if (size_needed_ != nullptr) *size_needed_ = size;
  }
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_convertible_v<T, std::string_view>) void operator()(
      const T& answer) const {
    bytes(&answer, sizeof(answer));
  }
  /// With its terminating 0.
  void text(std::string_view answer) const {
    std::vector<char> terminated(answer.begin(), answer.end());
    terminated.push_back('\0');
    bytes(terminated.data(), terminated.size());
  }
  template <class T>
  void array(const std::vector<T>& answer) const {
    bytes(answer.data(), answer.size() * sizeof(T));
  }
  /// ur_bool_t, which is one byte.
  void flag(bool answer) const { operator()(static_cast<ur_bool_t>(answer)); }

 private:
  std::size_t size_;
  void* value_;
  std::size_t* size_needed_;
};

[[noreturn]] inline void refuse_query() {
  throw Failure(UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION, "the adapter has no answer to this query");
}

/// Copies as many of `handles` as the caller has room for, and tells how many there are.
template <class Handle>
void list_handles(const std::vector<Handle>& handles, std::uint32_t room, Handle* out, std::uint32_t* count) {
  require(!(room == 0 && out != nullptr), UR_RESULT_ERROR_INVALID_SIZE, "there is no room for a handle");
  if (out != nullptr) {
    for (std::size_t i = 0; i < handles.size() && i < room; ++i) out[i] = handles[i];
  }
  if (count != nullptr) *count = static_cast<std::uint32_t>(handles.size());
}

}  // namespace anyplace_ur
