// SPDX-License-Identifier: Apache-2.0
//
// Fills by address, with patterns of up to 128 bytes, also over lines. A backend fills with words of 1, 2 and 4 bytes.
// A pattern that repeats such a word is one fill; any other is written once, word by word, and then copied behind
// itself until the destination is full. Lines are filled the same way: the first one is filled, and copies of the
// filled lines fill the next ones.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "anyplace/stream.h"
#include "memory/address_side.h"
#include "memory/copy.h"
#include "memory/host_copy.h"
#include "memory/pattern.h"
#include "memory/submit_copy.h"

namespace anyplace {

namespace detail {
namespace {

struct FillShape {
  std::uint64_t pitch;
  std::uint64_t width;
  std::uint64_t rows;
};

/// A copy of the pattern, because the caller may change it when the call returns.
struct Pattern {
  std::array<unsigned char, widest_pattern> bytes{};
  std::uint32_t size = 0;
};

class Fill {
 public:
  /// `kind` is the kind of copies within the destination's memory.
  Fill(StreamState& stream, const Pattern& pattern, std::uint32_t kind, const char* operation) noexcept
      : stream_(stream), pattern_(pattern), kind_(kind), operation_(operation) {}

  void run(anyplace_address to, const FillShape& shape) const {
    fill_line(to, shape.width);
    for (std::uint64_t written = 1; written < shape.rows;) {
      const std::uint64_t next = std::min(written, shape.rows - written);
      submit_copy_2d(stream_,
                     {sizeof(anyplace_copy_2d), kind_, to + written * shape.pitch, shape.pitch, to, shape.pitch,
                      shape.width, next},
                     operation_);
      written += next;
    }
  }

 private:
  void fill_line(anyplace_address to, std::uint64_t bytes) const {
    const std::uint32_t width = word_of(pattern_.bytes.data(), pattern_.size, to);
    if (width != 0) return set(to, pattern_.bytes.data(), width, bytes / width);
    const std::uint32_t piece = widest_word(pattern_.size, to);
    for (std::uint32_t at = 0; at < pattern_.size; at += piece) set(to + at, pattern_.bytes.data() + at, piece, 1);
    for (std::uint64_t written = pattern_.size; written < bytes;) {
      const std::uint64_t next = std::min(written, bytes - written);
      submit_copy_2d(stream_, {sizeof(anyplace_copy_2d), kind_, to + written, next, to, next, next, 1}, operation_);
      written += next;
    }
  }

  void set(anyplace_address to, const unsigned char* word, std::uint32_t width, std::uint64_t count) const {
    std::uint32_t value = 0;
    std::memcpy(&value, word, width);
    static_assert(std::endian::native == std::endian::little);
    const auto submit_now = [table = stream_.device->table, self = stream_.device->self, handle = stream_.handle, to,
                             value, width, count] { return table->memory_set(self, handle, to, value, width, count); };
    submit(stream_, operation_, submit_now, [&] { return FillWork{to, count, value, width}; });
  }

  StreamState& stream_;
  const Pattern& pattern_;
  std::uint32_t kind_;
  const char* operation_;
};

void fill_host(anyplace_address to, const FillShape& shape, const Pattern& pattern) noexcept {
  for (std::uint64_t row = 0; row < shape.rows; ++row) {
    std::byte* const line = host_pointer(to + row * shape.pitch);
    for (std::uint64_t at = 0; at < shape.width; at += pattern.size) {
      std::memcpy(line + at, pattern.bytes.data(), pattern.size);
    }
  }
}

void fill_by_address(StreamState& stream, anyplace_address destination, const void* pattern,
                     std::uint64_t pattern_bytes, FillShape shape, const char* operation) {
  DeviceState& device = *stream.device;
  require_usable(device, operation);
  if (!std::has_single_bit(pattern_bytes) || pattern_bytes > widest_pattern) {
    refuse_pattern(pattern_bytes, device, operation);
  }
  if (shape.width % pattern_bytes != 0) refuse_rest(shape.width, pattern_bytes, device, operation);
  if (shape.width == 0 || shape.rows == 0) return;
  if (pattern == nullptr) refuse_null(pattern_bytes, "pattern", device, operation);
  const AddressSide to("destination", destination, device);
  if (shape.rows == 1) {
    to.require(shape.width, device, operation);
  } else {
    to.require_lines(shape.pitch, shape.width, shape.rows, device, operation);
    if (shape.pitch == shape.width) shape = {0, shape.width * shape.rows, 1};
  }
  if (to.device() != nullptr && to.device() != &device) refuse_device(to.name(), *to.device(), device, operation);
  to.note_use(stream, operation);
  Pattern kept;
  kept.size = static_cast<std::uint32_t>(pattern_bytes);
  std::memcpy(kept.bytes.data(), pattern, kept.size);
  if (to.device() != nullptr) {
    Fill(stream, kept, ANYPLACE_COPY_DEVICE_TO_DEVICE, operation).run(destination, shape);
  } else if (has_capability(device, Capability::host_copy, operation)) {
    Fill(stream, kept, ANYPLACE_COPY_HOST_TO_HOST, operation).run(destination, shape);
  } else {
    const anyplace_copy_2d filled{
        sizeof(filled), ANYPLACE_COPY_HOST_TO_HOST, destination, shape.pitch, 0, 0, shape.width, shape.rows};
    run_on_host(stream, filled, operation, [destination, shape, kept] { fill_host(destination, shape, kept); });
  }
}

}  // namespace
}  // namespace detail

void StreamView::fill(Address destination, const void* pattern, std::uint64_t pattern_bytes,
                      std::uint64_t bytes) const {
  using namespace detail;
  constexpr const char* operation = "Stream::fill";
  use_pinned<StreamState>(operation, id_, [&](const auto& guard) {
    fill_by_address(guard.first(), destination.value(), pattern, pattern_bytes, {bytes, bytes, 1}, operation);
  });
}

void StreamView::fill_2d(Address destination, std::uint64_t pitch, const void* pattern, std::uint64_t pattern_bytes,
                         std::uint64_t width, std::uint64_t rows) const {
  using namespace detail;
  constexpr const char* operation = "Stream::fill_2d";
  use_pinned<StreamState>(operation, id_, [&](const auto& guard) {
    fill_by_address(guard.first(), destination.value(), pattern, pattern_bytes, {pitch, width, rows}, operation);
  });
}

}  // namespace anyplace
