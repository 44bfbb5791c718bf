// SPDX-License-Identifier: Apache-2.0
//
// A rule: which calls it is for, which of these it hits, and what happens to those.
#pragma once

#include <anyplace/backend/kit/layer.h>

#include <atomic>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace anyplace::faults {

/// What of an entry a rule has to know.
struct Entry {
  std::string_view name;
  bool takes_stream = false;  ///< it has a stream among its arguments, other than one that it makes or ends
  bool fails_before = true;   ///< it can fail without being called
  bool fails_after = true;    ///< it can be called and fail nevertheless
  bool is_seen = true;        ///< the core calls it when the layer is there
};
/// The entry with that ANYPLACE_ENTRY_INDEX_*.
const Entry& entry_at(std::size_t index) noexcept;

using EntrySet = std::bitset<ANYPLACE_ENTRY_COUNT>;

/// What a call is about. A member is -1 or empty if the call has none or the layer doesn't know it.
struct Subject {
  std::string_view backend;
  std::int32_t device = -1;
  std::optional<std::uint64_t> stream;  ///< its number on its device; 0 for the default stream
  std::uint64_t stream_id = 0;          ///< the cookie of its description
};

/// When a rule acts: before the backend is called, after it was, or in the stream, as a fault.
enum class Moment { before, after, in_stream };
/// How often a rule hits.
enum class Repeat { each, once, sticky };

struct Rule {
  std::string text;  ///< the rule in its short form, for messages
  EntrySet entries;
  anyplace_status status = ANYPLACE_STATUS_OK;  ///< OK: the rule only delays
  std::string backend;                          ///< "" for all
  std::int32_t device = -1;                     ///< -1 for all
  std::optional<std::uint64_t> stream;
  std::optional<std::uint64_t> stream_id;
  std::uint64_t nth = 0;   ///< from 1; 0: any use
  double probability = 1;  ///< of each use
  std::uint64_t seed = 0;  ///< of what is drawn for the probability
  Moment moment = Moment::before;
  Repeat repeat = Repeat::each;
  std::uint64_t delay_ns = 0;

  /// How many uses came, and how many were hit.
  std::atomic<std::uint64_t> uses{0}, hits{0};

  /// Whether a call of one of the rule's entries is a use of the rule.
  bool fits(const Subject& subject) const noexcept;
  /// Counts a use, a call of the entry, and says whether the rule hits it. Any thread; with several at a time each use
  /// has a number of its own.
  bool hit(std::size_t entry) noexcept;
  /// The entry of the first use that was hit; "" if none was.
  std::string_view first_hit() const noexcept;
  /// Whether the rule hits each of its uses, from the first on.
  bool always_hits() const noexcept {
    if (probability < 1 || repeat == Repeat::once) return false;
    return nth == 0 || (nth == 1 && repeat == Repeat::sticky);
  }

 private:
  static constexpr std::size_t no_entry = ANYPLACE_ENTRY_COUNT;
  std::atomic<std::size_t> first_hit_{no_entry};
};

}  // namespace anyplace::faults
