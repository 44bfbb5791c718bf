// SPDX-License-Identifier: Apache-2.0
//
// Record: what a thread notes of a call, in a form that costs the call little. The writer (writer.h) makes packets of
// it.
#pragma once

#include <anyplace/backend/kit/layer.h>
#include <time.h>

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace anyplace::trace {

class TracedBackend;
struct TimingPool;

/// CLOCK_MONOTONIC, in nanoseconds.
inline std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The time of the trace's slices, in nanoseconds: CLOCK_MONOTONIC, or the virtual time of a backend that has one
/// (TracedBackend::use_virtual_time).
std::uint64_t now_ns() noexcept;
/// Whether that time is virtual.
bool is_time_virtual() noexcept;

/// Events that were recorded before and after an operation; 0 if it isn't timed.
struct Timing {
  anyplace_event begin = 0;
  anyplace_event end = 0;
  std::uint32_t generation = 0;  ///< of the device: events of an earlier one went with a reset
};

inline constexpr std::size_t max_values = 9;
/// Records that a thread keeps in virtual time, and operations that it times, until the trace is written.
inline constexpr std::size_t most_kept = std::size_t{1} << 20;

struct Record {
  enum class Kind : std::uint8_t {
    call,
    host_function,  ///< a host function ran; the first value is its stream
    annotation,     ///< its values are those of AnnotationValue, and it has no backend
  };
  TracedBackend* backend;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t submission;  ///< the number of what the call submitted; 0 if it submits nothing
  const std::string* text;   ///< a text among the arguments, which the writer deletes; null if there is none
  Timing timing;
  TimingPool* pool;                              ///< of the timing; null if the call isn't timed
  std::array<std::uint64_t, max_values> values;  ///< of the arguments: value_names() says which
  anyplace_status status;
  std::uint32_t repeats;  ///< queries of the thread since the record before, which found what that one had found
  std::uint16_t entry;    ///< ANYPLACE_ENTRY_INDEX_*
  std::uint8_t value_count;
  Kind kind;
  bool is_virtual;         ///< its times are virtual
  std::uint64_t sequence;  ///< of what makes, uses and ends an object, in this order; 0 in real time (fixed_order.h)
};

/// Where an annotation's record has what.
enum AnnotationValue : std::uint8_t {
  annotation_kind,      ///< ANYPLACE_ANNOTATION_*
  annotation_domain,    ///< a pointer to the text
  annotation_category,  ///< a pointer to the text
  annotation_range,
  annotation_stream,
  annotation_payload_kind,
  annotation_payload,
  annotation_color,  ///< with one more bit above the 32, or 0 if there is none
  annotation_depth,
  annotation_values
};
static_assert(annotation_values <= max_values);

/// The values that stand for a struct, and their names. Structs without a specialisation have none.
template <class Struct>
struct StructValues {
  static constexpr std::array<const char*, 0> names{};
  static std::array<std::uint64_t, 0> of(const Struct&) noexcept { return {}; }
};
template <>
struct StructValues<anyplace_launch> {
  static constexpr std::array names{"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_bytes"};
  static std::array<std::uint64_t, 7> of(const anyplace_launch& launch) noexcept {
    return {launch.grid[0],  launch.grid[1],  launch.grid[2],     launch.block[0],
            launch.block[1], launch.block[2], launch.shared_bytes};
  }
};
template <>
struct StructValues<anyplace_copy_2d> {
  static constexpr std::array names{"destination", "destination_pitch", "source", "source_pitch", "width", "rows",
                                    "kind"};
  static std::array<std::uint64_t, 7> of(const anyplace_copy_2d& copy) noexcept {
    return {copy.destination, copy.destination_pitch, copy.source, copy.source_pitch, copy.width, copy.rows, copy.kind};
  }
};
template <>
struct StructValues<anyplace_stream_desc> {
  static constexpr std::array names{"id", "flags", "priority"};
  static std::array<std::uint64_t, 3> of(const anyplace_stream_desc& desc) noexcept {
    return {desc.cookie, desc.flags, static_cast<std::uint64_t>(std::int64_t{desc.priority})};
  }
};
template <>
struct StructValues<anyplace_event_desc> {
  static constexpr std::array names{"flags"};
  static std::array<std::uint64_t, 1> of(const anyplace_event_desc& desc) noexcept { return {desc.flags}; }
};
template <>
struct StructValues<anyplace_module_desc> {
  static constexpr std::array names{"format", "image_bytes"};
  static std::array<std::uint64_t, 2> of(const anyplace_module_desc& desc) noexcept {
    return {desc.format, desc.image_bytes};
  }
};
template <>
struct StructValues<anyplace_graph_desc> {
  static constexpr std::array names{"node_count"};
  static std::array<std::uint64_t, 1> of(const anyplace_graph_desc& desc) noexcept { return {desc.node_count}; }
};

/// How many values an argument of that type has.
template <class T>
constexpr std::size_t value_count(const backend::Argument& argument) noexcept {
  using backend::Kind;
  using Value = std::remove_cv_t<std::remove_pointer_t<T>>;
  if (argument.kind == Kind::FUNCTION || argument.kind == Kind::USER || argument.kind == Kind::TEXT) return 0;
  if constexpr (std::is_pointer_v<T> && std::is_class_v<Value>) {
    return argument.role == backend::Role::IN ? StructValues<Value>::names.size() : 0;
  } else {
    return argument.kind == Kind::STRUCT ? 0 : 1;
  }
}

/// Adds the values of an argument. Outputs are those after the call, and 0 if it failed.
template <class T>
void put_values(Record& record, const backend::Argument& argument, T value) noexcept {
  using Value = std::remove_cv_t<std::remove_pointer_t<T>>;
  if (value_count<T>(argument) == 0) return;
  const bool failed = record.status != ANYPLACE_STATUS_OK && argument.role == backend::Role::OUT;
  if constexpr (std::is_pointer_v<T> && std::is_class_v<Value>) {
    for (const std::uint64_t one : StructValues<Value>::of(*value)) record.values[record.value_count++] = one;
  } else if constexpr (std::is_same_v<T, double*>) {
    record.values[record.value_count++] = failed ? 0 : std::bit_cast<std::uint64_t>(*value);
  } else if constexpr (std::is_pointer_v<T> && std::is_integral_v<Value>) {
    record.values[record.value_count++] = failed ? 0 : static_cast<std::uint64_t>(*value);
  } else if constexpr (std::is_integral_v<T>) {
    record.values[record.value_count++] = static_cast<std::uint64_t>(value);
  } else if constexpr (std::is_same_v<T, void*>) {
    record.values[record.value_count++] = backend::to_handle(value);
  }
}

/// The name of a value of an entry, and what kind of argument it is of.
struct ValueName {
  const char* name;
  backend::Kind kind;
  backend::Role role;
};
/// The names of an entry's values, in their order. Valid for the life of the process.
std::span<const ValueName> value_names(std::uint16_t entry);

}  // namespace anyplace::trace
