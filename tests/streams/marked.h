// SPDX-License-Identifier: Apache-2.0
//
// Marked: a stream, and a byte of its device that says how far it came. Fills and copies of other streams go on while a
// host function blocks; so what must not overtake is looked at with fills.
#pragma once

#include <anyplace/anyplace.h>

#include <cstdint>

namespace test {

struct Marked {
  explicit Marked(const anyplace::Device& device) : stream(device), mark(stream, 1) {
    stream.memset8(mark, 0);
    stream.synchronize();
  }
  void set(std::uint8_t value) const { stream.memset8(mark, value); }
  std::uint8_t get() const {
    const anyplace::Stream reader(mark.device());
    std::uint8_t value = 0;
    reader.copy(anyplace::HostSpan(&value, 1), mark);
    reader.synchronize();
    return value;
  }
  anyplace::Stream stream;
  anyplace::Buffer mark;
};

}  // namespace test
