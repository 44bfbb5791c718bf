// SPDX-License-Identifier: Apache-2.0
//
// Programs: small uses of the library, each in a form with one bug of order and in a form without. A schedule shows the
// bug as a wrong result; `anyplace explore` has to find one.
//
// Invariant: no schedule of the right form has a wrong result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anyplace/anyplace.h"

namespace schedules {

/// What a program works with. Every element of x, y and z is 1 when it begins, and the devices are idle.
struct Bed {
  Bed();
  Bed(const Bed&) = delete;  // streams use its memory
  Bed& operator=(const Bed&) = delete;

  /// Every element becomes `value`.
  static void set(const anyplace::StreamView& stream, const anyplace::BufferView& buffer, std::uint32_t value) {
    stream.fill(buffer.as<std::uint32_t>(), value);
  }
  /// The first element, when the stream has come to it.
  std::uint32_t get(const anyplace::StreamView& stream, const anyplace::BufferView& buffer) const;
  /// Adds 1 to the first element.
  void increment(const anyplace::StreamView& stream, const anyplace::BufferView& buffer) const {
    stream.launch(one_more, {1, 1}, buffer);
  }
  /// Copies between host memory and the device don't wait for anything in pinned memory.
  std::uint32_t& in(const anyplace::HostBuffer& pinned) const { return pinned.as<std::uint32_t>()[0]; }

  anyplace::Device device, other_device;
  anyplace::Stream a, b, c;
  anyplace::Buffer x, y, z;  ///< of `a`
  anyplace::HostBuffer pinned, other_pinned, result;
  anyplace::Event event, other_event;
  anyplace::Kernel one_more;
};

struct Program {
  const char* name;
  const char* bug;                    ///< what is wrong with the wrong form
  unsigned depth;                     ///< how many orders of two operations have to come together for a wrong result
  bool (*run)(Bed& bed, bool right);  ///< returns whether the result is right
  const char* faults = nullptr;       ///< rules of the layer `faults`, which are in force while it runs; null for none
};

/// All of them.
std::vector<Program> programs();

std::span<const Program> event_programs();
std::span<const Program> stream_programs();
std::span<const Program> copy_programs();
std::span<const Program> host_programs();
std::span<const Program> memory_programs();
std::span<const Program> deep_programs();
std::span<const Program> failure_programs();  ///< with faults

}  // namespace schedules
