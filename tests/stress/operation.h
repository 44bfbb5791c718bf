// SPDX-License-Identifier: Apache-2.0
//
// A round: a program of operations on the public API, as data. It is made from a seed, printed, read back, and run with
// parts of it left out. Objects are numbered from 0 in each kind; no number is used twice.
//
// Stream `d` below the number of devices is the null stream of device d, and the next threads x devices are the
// threads' own streams (Round::own_stream); the others are made by operations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stress {

using Number = std::int64_t;

/// The name of each kind and the members of Operation that it has, in the order in which they are printed.
#define STRESS_KINDS(X)                                                             \
  X(follow, "other")                                                                \
  X(make_stream, "stream device value option")                                      \
  X(end_stream, "stream")                                                           \
  X(make_event, "event device option")                                              \
  X(end_event, "event")                                                             \
  X(record, "event stream")                                                         \
  X(record_new, "event stream option")                                              \
  X(wait_event, "stream event")                                                     \
  X(wait_stream, "stream other")                                                    \
  X(sync_stream, "stream option")                                                   \
  X(try_stream, "stream value")                                                     \
  X(query_stream, "stream")                                                         \
  X(sync_event, "event option")                                                     \
  X(try_event, "event value")                                                       \
  X(query_event, "event")                                                           \
  X(elapsed, "event other")                                                         \
  X(sync_device, "device option")                                                   \
  X(try_device, "device value")                                                     \
  X(make_buffer, "buffer stream bytes pool option")                                 \
  X(end_buffer, "buffer")                                                           \
  X(record_stream, "buffer stream")                                                 \
  X(make_pool, "pool device")                                                       \
  X(end_pool, "pool")                                                               \
  X(release_pool, "pool")                                                           \
  X(make_host, "host device bytes option")                                          \
  X(end_host, "host")                                                               \
  X(write_host, "host offset bytes value")                                          \
  X(check_host, "host offset bytes")                                                \
  X(write_managed, "buffer offset bytes value")                                     \
  X(check_managed, "buffer offset bytes")                                           \
  X(fill, "stream buffer offset bytes option value")                                \
  X(upload, "stream buffer offset host from_offset bytes")                          \
  X(download, "stream host offset from from_offset bytes")                          \
  X(copy, "stream buffer offset from from_offset bytes")                            \
  X(upload_2d, "stream buffer offset pitch host from_offset from_pitch bytes rows") \
  X(download_2d, "stream host offset pitch from from_offset from_pitch bytes rows") \
  X(copy_2d, "stream buffer offset pitch from from_offset from_pitch bytes rows")   \
  X(make_module, "module device")                                                   \
  X(end_module, "module")                                                           \
  X(mix, "stream module buffer offset from from_offset bytes value rows option")    \
  X(call_write, "stream host offset bytes value")                                   \
  X(call_check, "stream host offset bytes")                                         \
  X(call_delay, "stream value")                                                     \
  X(call_throw, "stream")                                                           \
  X(end_buffer_in_call, "stream buffer")                                            \
  X(end_event_in_call, "stream event")                                              \
  X(end_stream_in_call, "stream other")                                             \
  X(empty_cache, "device")                                                          \
  X(out_of_memory, "stream bytes")                                                  \
  X(read_books, "device")                                                           \
  X(peer_access, "device other option")                                             \
  X(stale_stream, "other")                                                          \
  X(stale_event, "stream event")                                                    \
  X(stale_buffer, "stream buffer")

enum class Kind {
#define STRESS_KIND(name, members) name,
  STRESS_KINDS(STRESS_KIND)
#undef STRESS_KIND
};

/// What the options say.
enum Option : Number {
  with_time_limit = 1,  ///< sync_*: through the form with a time limit, of an hour
  blocking = 1,         ///< make_stream
  timed = 1,            ///< make_event, record_new
  blocking_sync = 2,    ///< make_event, record_new
  on_stream = 0,        ///< make_buffer: names the stream
  on_current = 1,       ///< the stream is the current one
  managed = 2,          ///< managed memory
  ends_pool = 3,        ///< the pool is destroyed inside its guard, before the buffer is made
  pageable = 0,         ///< make_host
  pinned = 1,
  registered = 2,
  of_module = 0,  ///< mix: the module's kernel
  callable = 1,   ///< a C++ callable, destroyed as soon as it was launched
  enable = 1,     ///< peer_access; 0 disables
};

/// Numbers that a kind doesn't have are 0. Offsets and bytes are in bytes.
struct Operation {
  Kind kind = Kind::follow;
  std::uint32_t thread = 0;
  Number stream = 0;
  Number other = 0;  ///< a second thing of the first one's kind: stream, event, device; the thread that is followed
  Number event = 0;
  Number buffer = 0;
  Number from = 0;  ///< the source buffer
  Number host = 0;
  Number pool = 0;  ///< -1: none
  Number device = 0;
  Number module = 0;
  Number offset = 0;  ///< in the destination
  Number from_offset = 0;
  Number bytes = 0;  ///< 2D: of a row
  Number pitch = 0;
  Number from_pitch = 0;
  Number rows = 0;  ///< mix: how often it goes over
  Number value = 0;
  Number option = 0;

  friend bool operator==(const Operation&, const Operation&) = default;
};

/// What happens behind the last operation.
enum class Ending {
  orderly,  ///< everything is waited for, then destroyed
  busy,     ///< streams, events, pools and modules are destroyed with their work pending
  abrupt    ///< the process ends: handles are left, work is pending
};

struct Round {
  std::uint64_t seed = 0;
  std::vector<std::string> places;
  std::uint32_t threads = 1;
  std::vector<std::pair<std::string, std::string>> settings;  ///< environment variables
  Ending ending = Ending::orderly;
  std::vector<Operation> operations;

  friend bool operator==(const Round&, const Round&) = default;
  Number devices() const { return static_cast<Number>(places.size()); }
  /// The stream that `thread` has on `device` without making one.
  Number own_stream(std::uint32_t thread, Number device) const { return devices() * (1 + Number{thread}) + device; }
  /// Streams below this number are there from the start.
  Number first_made_stream() const { return devices() * (1 + Number{threads}); }
};

const char* name_of(Kind kind);
/// Throws std::invalid_argument for what is no kind.
Kind kind_of(std::string_view name);
/// "0 copy stream=4 buffer=1 ...": the thread comes first.
std::string to_text(const Operation& operation);
/// A line for each thing; parse_round reads it.
std::string to_text(const Round& round);
/// Throws std::invalid_argument, which names the line.
Round parse_round(std::string_view text);

/// SplitMix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 to bound - 1.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class Range>
  auto& pick(Range& range) {
    return range[below(range.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace stress
