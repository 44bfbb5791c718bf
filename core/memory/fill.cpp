// SPDX-License-Identifier: Apache-2.0
//
// Stream::fill. Backends fill with elements of 1, 2 and 4 bytes. A fill whose element repeats such a one becomes a fill
// with that; any other element is written once, in pieces, and then copied behind itself until the destination is full.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "anyplace/error.h"
#include "anyplace/stream.h"
#include "memory/pattern.h"
#include "runtime/call.h"

namespace anyplace {

namespace {

/// The size and the address must be multiples of `width`, which is 1, 2 or 4.
void fill_words(const StreamView& stream, BufferView destination, const unsigned char* word, std::uint32_t width) {
  std::uint32_t value = 0;
  if (width == 1) {
    stream.memset8(destination, *word);
  } else if (width == 2) {
    std::uint16_t half = 0;
    std::memcpy(&half, word, sizeof(half));
    stream.memset16(destination, half);
  } else {
    std::memcpy(&value, word, sizeof(value));
    stream.memset32(destination, value);
  }
}

void fill_range(const StreamView& stream, BufferView destination, const unsigned char* element, std::uint32_t size) {
  const std::uint64_t address = destination.address();
  if (const std::uint32_t width = detail::word_of(element, size, address)) {
    return fill_words(stream, destination, element, width);
  }
  const std::uint32_t width = detail::widest_word(size, address);
  for (std::uint32_t at = 0; at < size; at += width) {
    fill_words(stream, destination.sub(at, width), element + at, width);
  }
  const std::uint64_t whole = destination.size_bytes();
  for (std::uint64_t written = size; written < whole;) {
    const std::uint64_t next = std::min(written, whole - written);
    stream.copy(destination.sub(written, next), destination.sub(0, next));
    written += next;
  }
}

}  // namespace

void StreamView::fill_elements(BufferView destination, const void* element, std::uint32_t size) const {
  const auto* const bytes = static_cast<const unsigned char*>(element);
  try {
    // This checks the stream and the destination before anything is written.
    if (destination.size_bytes() == 0) return memset8(destination, 0);
    fill_range(*this, destination.sub(0), bytes, size);
  } catch (const Error& error) {
    throw detail::renamed(error, "Stream::fill");
  }
}

}  // namespace anyplace
