// SPDX-License-Identifier: Apache-2.0
#include "fixed_order.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "operations.h"

namespace anyplace::trace {
namespace {

using backend::Kind;
using backend::Role;

/// An address is shown as the number of its allocation above these bits, and its distance from the beginning in them.
constexpr unsigned offset_bits = 40;
constexpr std::uint64_t offset_mask = (std::uint64_t{1} << offset_bits) - 1;
/// A submission has the number of its thread's buffer above these bits (ThreadBuffer).
constexpr unsigned submission_bits = 40;
constexpr std::uint64_t submission_mask = (std::uint64_t{1} << submission_bits) - 1;

bool has_identity(Kind kind) noexcept { return backend::is_handle(kind) || kind == Kind::NATIVE; }

bool is_copy_2d_address(std::uint16_t entry, std::size_t value) noexcept {
  return entry == entry_index<&Table::memory_copy_2d> && (value == 1 || value == 3);
}

bool is_address(const Record& record, const ValueName& name, std::size_t value) noexcept {
  return name.kind == Kind::ADDRESS || name.kind == Kind::HOST_ADDRESS || is_copy_2d_address(record.entry, value);
}

/// Which of the values is StreamView::id(), in the calls that have it; the number of values else.
std::size_t place_of_stream_id(const Record& record) noexcept {
  switch (record.entry) {
    case entry_index<&Table::stream_create>:
    case entry_index<&Table::stream_default>:
      return 1;
    case entry_index<&Table::stream_from_native>:
      return 2;
    default:
      return max_values;
  }
}

std::uint64_t bytes_in(const Record& record) {
  const auto names = value_names(record.entry);
  for (std::size_t i = 0; i < record.value_count; ++i) {
    if (names[i].kind == Kind::BYTES) return record.values[i];
  }
  return 1;  // of imported memory the library knows more than the call shows
}

}  // namespace

void FixedOrder::add_thread(std::uint64_t buffer, std::int32_t system, const std::string& name) {
  threads_.try_emplace(buffer, Thread{0, system, name});
}

// ---- Which object a value stands for, in the order in which things happened

std::uint64_t FixedOrder::add_identity(const Group& group) {
  identities_.push_back({group});
  return identities_.size();
}

std::uint64_t FixedOrder::identify_handle(const Record& record, const ValueName& name, std::uint64_t handle) {
  if (handle == 0) return 0;
  const Group group{record.backend, name.kind};
  const std::tuple key{record.backend, name.kind, handle};
  if (name.role == Role::OUT && name.kind != Kind::NATIVE) return handles_[key] = add_identity(group);
  const auto [found, is_fresh] = handles_.try_emplace(key, 0);
  if (is_fresh) found->second = add_identity(group);
  const std::uint64_t identity = found->second;
  if (name.role == Role::END && record.status == ANYPLACE_STATUS_OK) handles_.erase(found);
  return identity;
}

/// The allocation's identity and the distance from its beginning; 0 for other memory of the host.
std::uint64_t FixedOrder::identify_address(Ranges& ranges, const Record& record, const ValueName& name,
                                           std::uint64_t address) {
  if (address == 0) return 0;
  const bool begins = name.role == Role::OUT || record.entry == entry_index<&Table::host_register>;
  if (begins && record.status == ANYPLACE_STATUS_OK) {
    ranges[address] = {bytes_in(record), add_identity({record.backend, Kind::ADDRESS})};
  }
  auto found = ranges.upper_bound(address);
  if (found == ranges.begin()) return 0;
  --found;
  const std::uint64_t offset = address - found->first;
  if (offset >= std::max<std::uint64_t>(found->second.bytes, 1)) return 0;
  const std::uint64_t shown = found->second.identity << offset_bits | (offset & offset_mask);
  // A part of a reservation that is unmapped is still reserved.
  const bool ends = name.role == Role::END && record.entry != entry_index<&Table::virtual_unmap>;
  if (ends && record.status == ANYPLACE_STATUS_OK) ranges.erase(found);
  return shown;
}

void FixedOrder::identify(Record& record) {
  if (record.kind != Record::Kind::call) return;
  const auto names = value_names(record.entry);
  Ranges& ranges = ranges_[record.backend];
  for (std::size_t i = 0; i < record.value_count; ++i) {
    if (has_identity(names[i].kind)) {
      record.values[i] = identify_handle(record, names[i], record.values[i]);
    } else if (is_address(record, names[i], i)) {
      record.values[i] = identify_address(ranges, record, names[i], record.values[i]);
    }
  }
}

// ---- The order, and the numbers in it

/// Threads that come at one time are numbered as the system does it, in the order of their making.
void FixedOrder::number_threads(const std::vector<Taken>& taken) {
  std::map<std::uint64_t, std::uint64_t> firsts;
  for (const Taken& one : taken) {
    std::uint64_t& first = firsts.try_emplace(one.thread, one.order).first->second;
    first = std::min(first, one.order);
  }
  std::vector<std::tuple<std::uint64_t, std::uint32_t, Thread*>> fresh;
  for (const auto& [buffer, first] : firsts) {
    Thread& thread = threads_[buffer];
    // The system's numbers begin again at the greatest one; the process's first thread has the process's own.
    if (thread.number == 0) fresh.emplace_back(first, static_cast<std::uint32_t>(thread.system - getpid()), &thread);
  }
  std::sort(fresh.begin(), fresh.end());
  for (const auto& [first, system, thread] : fresh) {
    names_.push_back(thread->name);
    thread->number = names_.size();
  }
}

std::uint64_t FixedOrder::number_of(std::uint64_t identity) {
  if (identity == 0) return 0;
  Identity& known = identities_[identity - 1];
  if (known.number == 0) known.number = ++counts_[known.group];
  return known.number;
}

std::uint64_t FixedOrder::stream_number(std::uint64_t id) {
  return id == 0 ? 0 : stream_numbers_.try_emplace(id, stream_numbers_.size() + 1).first->second;
}

void FixedOrder::number(Record& record) {
  if (record.kind == Record::Kind::annotation) {
    record.values[annotation_stream] = stream_number(record.values[annotation_stream]);
    return;
  }
  const auto names = value_names(record.entry);
  for (std::size_t i = 0; i < record.value_count; ++i) {
    std::uint64_t& value = record.values[i];
    if (has_identity(names[i].kind)) {
      value = number_of(value);
    } else if (is_address(record, names[i], i)) {
      value = number_of(value >> offset_bits) << offset_bits | (value & offset_mask);
    }
  }
  if (const std::size_t id = place_of_stream_id(record); id < record.value_count) {
    record.values[id] = stream_number(record.values[id]);
  }
}

/// Gives the record its time and its thread's number.
void FixedOrder::place(Taken& one) {
  Record& record = one.record;
  one.thread = threads_[one.thread].number;
  if (record.submission == 0) return;
  const std::uint64_t submitter = threads_[record.submission >> submission_bits].number;
  record.submission = submitter << submission_bits | (record.submission & submission_mask);
}

void FixedOrder::arrange(std::vector<Taken>& taken) {
  for (Taken& one : taken) {
    if (one.record.is_virtual) continue;
    one.record.begin_ns = one.record.end_ns = one.order = start_ns_;
  }
  std::stable_sort(taken.begin(), taken.end(),
                   [](const Taken& a, const Taken& b) { return a.record.sequence < b.record.sequence; });
  for (Taken& one : taken) identify(one.record);
  std::erase_if(taken, [this](const Taken& one) {
    if (!threads_[one.thread].name.starts_with("anyplace-")) return false;
    delete one.record.text;
    return true;
  });
  number_threads(taken);
  for (Taken& one : taken) place(one);
  std::stable_sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) {
    return std::tuple(a.order, a.thread) < std::tuple(b.order, b.thread);
  });
  for (Taken& one : taken) number(one.record);
}

}  // namespace anyplace::trace
