// SPDX-License-Identifier: Apache-2.0
//
// Packets: encodes tracks, slices and counters as packets of Perfetto's. Names are written once and referred to by
// numbers after that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace anyplace::trace {

/// Something to know of a slice.
struct Annotation {
  enum class Kind : std::uint8_t { number, signed_number, real, address, text };
  const char* name;  ///< one of few
  Kind kind = Kind::number;
  std::uint64_t number = 0;  ///< or the bits of a real one
  std::string text = {};
};

struct Slice {
  std::uint64_t track = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::string_view name = {};
  std::string_view category = {};
  std::vector<std::uint64_t> flows =
      {};  ///< slices with a flow in common are joined by arrows, in the order of their beginnings
  std::vector<Annotation> annotations = {};
};

/// Appends to a text. For one thread.
class Packets {
 public:
  explicit Packets(std::string& out) : out_(out) {}

  /// Begins a trace: the clocks, and the track of this process, whose number is returned. One that is the same in each
  /// run has no other clock than its own, and a number in the place of the process's.
  std::uint64_t begin(bool is_same_in_each_run);
  std::uint64_t add_track(std::uint64_t parent, std::string_view name);
  std::uint64_t add_thread(std::int32_t thread, std::string_view name);
  std::uint64_t add_byte_counter(std::uint64_t parent, std::string_view name);

  /// Tells a thread's new name.
  void rename_thread(std::uint64_t track, std::int32_t thread, std::string_view name);

  /// Slices of one track must not overlap but where one lies in the other; viewers drop those that do.
  void add(const Slice& slice);
  /// A slice whose end isn't known yet. The end is that of the slice of the track that was begun last.
  void begin_slice(const Slice& slice);
  void end_slice(std::uint64_t track, std::uint64_t at_ns);
  /// Adds a point in time: its end is its beginning.
  void add_instant(const Slice& point);
  void count(std::uint64_t track, std::uint64_t at_ns, std::uint64_t value);

 private:
  /// Texts of one kind, by the numbers that stand for them.
  struct Interned {
    std::unordered_map<std::string, std::uint64_t> numbers;
    std::vector<std::pair<std::uint64_t, std::string>> fresh;  ///< not yet in a packet
    std::uint64_t of(std::string_view text);
  };
  void add_begin(const Slice& slice, int type);
  void describe_thread(std::uint64_t track, std::int32_t thread, std::string_view name);

  std::string& out_;
  std::int32_t pid_ = 0;
  std::uint64_t process_ = 0;
  std::uint64_t last_track_ = 0;
  Interned names_, categories_, annotation_names_;
};

}  // namespace anyplace::trace
