// SPDX-License-Identifier: Apache-2.0
//
// Programs: small uses of the library, each in a form with one mistake and in a form without. The layer `validate` has
// to find the mistake, with both of its accesses, and nothing in the right form.
//
// Invariant: what is wrong with a program follows from what it submits, so neither luck nor speed changes its report.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "anyplace/access.h"
#include "anyplace/anyplace.h"
#include "support/host_gate.h"

namespace races {

/// The bytes of each buffer of a bed.
inline constexpr std::uint64_t bytes = 4096;
inline constexpr std::uint64_t half = bytes / 2;

/// What a program works with. All of it is there, and the device is idle, when the program begins. When the program is
/// over everything that was submitted is waited for.
struct Bed {
  explicit Bed(const std::string& place);
  Bed(const Bed&) = delete;  // streams use its memory
  Bed& operator=(const Bed&) = delete;

  /// Says what expectations call a stream that a program made.
  void name(const char* name, const anyplace::StreamView& stream) const;
  /// Says why this device can't show what the program is about: the form counts as left out. The program then returns.
  void leave_out(const char* why) const;
  /// The device after this one, of the same backend.
  anyplace::Device next_device() const;
  /// Every element of `buffer` becomes 1.
  static void fill(const anyplace::StreamView& stream, const anyplace::BufferView& buffer);
  /// `to` becomes `from`: a kernel that reads one and writes the other, by their elements.
  template <class To, class From>
  void launch_add(const anyplace::StreamView& stream, const To& to, const From& from) const {
    stream.launch(add, {1, 64}, to, from, std::uint32_t{64});
  }

  anyplace::Device device;
  anyplace::Module module;
  anyplace::KernelView add;  ///< (to, from, count): to[i] += from[i]
  anyplace::Stream a, b, c;
  anyplace::Buffer x, y;        ///< of `a`
  anyplace::HostBuffer pinned;  ///< host memory that copies are asynchronous with
  std::vector<std::uint32_t> pageable;
  anyplace::Event event, other_event;
  test::HostGate gate;  ///< of one stream at most
};

/// The report of a program's wrong form. An access is its operation, and, where it has one, "@" and its stream's name:
/// "fill@a", "kernel add@b", "host read". Streams are called a, b, c, null, or as the program named them.
struct Expected {
  const char* kind;
  const char* first;
  const char* second;
};

/// What a program needs beside a backend with two devices.
enum class Needs { nothing, other_backend, sharing };

struct Program {
  const char* name;  ///< a sentence: what is wrong with the wrong form
  Expected expected;
  void (*run)(Bed& bed, bool right);
  Needs needs = Needs::nothing;
};

struct Topic {
  const char* name;
  std::span<const Program> programs;
};

/// All programs, by what they are about.
std::vector<Topic> topics();

std::span<const Program> event_programs();
std::span<const Program> chain_programs();
std::span<const Program> stream_programs();
std::span<const Program> copy_programs();
std::span<const Program> kernel_programs();
std::span<const Program> host_programs();
std::span<const Program> memory_programs();
std::span<const Program> device_programs();
std::span<const Program> graph_programs();
std::span<const Program> graph_function_programs();
std::span<const Program> pipeline_programs();
std::span<const Program> reuse_programs();
std::span<const Program> collective_programs();
std::span<const Program> rank_programs();
std::span<const Program> handle_programs();

}  // namespace races
