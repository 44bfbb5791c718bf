// SPDX-License-Identifier: Apache-2.0
#include "rule.h"

#include <array>
#include <span>

namespace anyplace::faults {
namespace {

using backend::Argument;
using backend::EntryOf;
using backend::Kind;
using backend::Role;

constexpr bool takes_stream(std::span<const Argument> arguments) noexcept {
  for (const Argument& argument : arguments) {
    if (argument.kind == Kind::STREAM && argument.role == Role::IN) return true;
  }
  return false;
}

constexpr std::array<Entry, ANYPLACE_ENTRY_COUNT> make_entries() noexcept {
  std::array<Entry, ANYPLACE_ENTRY_COUNT> entries;
#define FAULTS_ENTRY(entry, presence, capabilities) \
  entries[ANYPLACE_ENTRY_INDEX_##entry] =           \
      Entry{#entry, takes_stream(EntryOf<&anyplace_backend_table::entry>::arguments), true, true, true};
  ANYPLACE_ENTRY_LIST(FAULTS_ENTRY)
#undef FAULTS_ENTRY
  // The core asks for the number of devices before it puts layers on.
  entries[ANYPLACE_ENTRY_INDEX_device_count].is_seen = false;
  // A backend that isn't shut down goes on with threads that nothing waits for.
  entries[ANYPLACE_ENTRY_INDEX_shutdown].fails_before = false;
  // The core frees what it gave to a call that failed, and maps another memory at the same address.
  entries[ANYPLACE_ENTRY_INDEX_stream_host_function].fails_after = false;
  entries[ANYPLACE_ENTRY_INDEX_kernel_from_host].fails_after = false;
  entries[ANYPLACE_ENTRY_INDEX_virtual_map].fails_after = false;
  entries[ANYPLACE_ENTRY_INDEX_virtual_map_all].fails_after = false;
  return entries;
}
constexpr std::array<Entry, ANYPLACE_ENTRY_COUNT> all_entries = make_entries();

/// A number from 0 to below 1 that depends on the two alone (SplitMix64; Steele, Lea and Flood, 2014).
double draw(std::uint64_t seed, std::uint64_t number) noexcept {
  std::uint64_t bits = seed + number * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace

const Entry& entry_at(std::size_t index) noexcept { return all_entries[index]; }

bool Rule::fits(const Subject& subject) const noexcept {
  if (!backend.empty() && backend != subject.backend) return false;
  if (device >= 0 && device != subject.device) return false;
  if (stream && stream != subject.stream) return false;
  return !stream_id || (subject.stream && *stream_id == subject.stream_id);
}

bool Rule::hit(std::size_t entry) noexcept {
  const std::uint64_t number = uses.fetch_add(1, std::memory_order_relaxed) + 1;
  const bool stuck = repeat == Repeat::sticky && first_hit_.load(std::memory_order_relaxed) != no_entry;
  if (!stuck) {
    if (nth != 0 && number != nth) return false;
    if (probability < 1 && draw(seed, number) >= probability) return false;
    std::size_t none = no_entry;
    const bool is_first = first_hit_.compare_exchange_strong(none, entry, std::memory_order_relaxed);
    if (!is_first && repeat == Repeat::once) return false;
  }
  hits.fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::string_view Rule::first_hit() const noexcept {
  const std::size_t entry = first_hit_.load(std::memory_order_relaxed);
  return entry == no_entry ? std::string_view() : entry_at(entry).name;
}

}  // namespace anyplace::faults
