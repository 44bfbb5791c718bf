// SPDX-License-Identifier: Apache-2.0
#include "packets.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <protozero/pbf_writer.hpp>

#include "perfetto.h"
#include "settings.h"

namespace anyplace::trace {
namespace {

using protozero::pbf_writer;
namespace pf = perfetto;

/// All packets are of one sequence, in which names are valid.
constexpr std::uint32_t sequence = 1;

std::uint64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void add_clock(pbf_writer& snapshot, unsigned id, std::uint64_t now_ns) {
  pbf_writer one(snapshot, pf::clock_snapshot::clocks);
  one.add_uint32(pf::clock::id, id);
  one.add_uint64(pf::clock::timestamp, now_ns);
}

void add_clocks(pbf_writer& packet, bool is_same_in_each_run) {
  pbf_writer snapshot(packet, pf::packet::clock_snapshot);
  const auto now = [&](clockid_t clock) { return is_same_in_each_run ? 0 : read_clock(clock); };
  add_clock(snapshot, pf::clock_monotonic, now(CLOCK_MONOTONIC));
  add_clock(snapshot, pf::clock_boottime, now(CLOCK_BOOTTIME));  // which viewers show
  if (!is_same_in_each_run) add_clock(snapshot, pf::clock_realtime, now(CLOCK_REALTIME));
  snapshot.add_uint32(pf::clock_snapshot::primary_trace_clock, pf::clock_monotonic);
}

/// A packet that takes part in the sequence.
class Packet : public pbf_writer {
 public:
  explicit Packet(pbf_writer& trace, unsigned flags = pf::needs_incremental_state)
      : pbf_writer(trace, pf::trace::packet) {
    add_uint32(pf::packet::sequence_id, sequence);
    add_uint32(pf::packet::sequence_flags, flags);
  }
};

void add_annotation(pbf_writer& event, const Annotation& annotation, std::uint64_t name) {
  pbf_writer one(event, pf::track_event::debug_annotations);
  one.add_uint64(pf::debug_annotation::name_iid, name);
  switch (annotation.kind) {
    case Annotation::Kind::number:
      return one.add_uint64(pf::debug_annotation::uint_value, annotation.number);
    case Annotation::Kind::signed_number:
      return one.add_int64(pf::debug_annotation::int_value, static_cast<std::int64_t>(annotation.number));
    case Annotation::Kind::real:
      return one.add_double(pf::debug_annotation::double_value, std::bit_cast<double>(annotation.number));
    case Annotation::Kind::address:
      return one.add_uint64(pf::debug_annotation::pointer_value, annotation.number);
    case Annotation::Kind::text:
      return one.add_string(pf::debug_annotation::string_value, annotation.text);
  }
}

template <class Fresh>
void add_fresh(pbf_writer& data, pf::Tag tag, Fresh& fresh) {
  for (const auto& [number, text] : fresh) {
    pbf_writer one(data, tag);
    one.add_uint64(pf::interned::iid, number);
    one.add_string(pf::interned::name, text);
  }
  fresh.clear();
}

}  // namespace

std::uint64_t Packets::Interned::of(std::string_view text) {
  const auto [found, is_fresh] = numbers.try_emplace(std::string(text), numbers.size() + 1);
  if (is_fresh) fresh.emplace_back(found->second, found->first);
  return found->second;
}

std::uint64_t Packets::begin(bool is_same_in_each_run) {
  for (Interned* const texts : {&names_, &categories_, &annotation_names_}) *texts = {};
  // Traces of a job's ranks are shown together, so each has a number of its own.
  bool has_ranks = false;
  const std::uint32_t rank = job_rank(has_ranks);
  pid_ = static_cast<std::int32_t>(is_same_in_each_run ? 1 + rank : ::getpid());
  // The numbers of tracks are to be unique among traces that are shown together.
  const std::uint64_t unique = is_same_in_each_run ? 0 : (read_clock(CLOCK_MONOTONIC) & 0xfff) << 20;
  last_track_ = static_cast<std::uint64_t>(pid_) << 32 | unique;
  process_ = ++last_track_;
  pbf_writer trace(out_);
  {
    Packet packet(trace, pf::incremental_state_cleared);
    add_clocks(packet, is_same_in_each_run);
    pbf_writer defaults(packet, pf::packet::defaults);
    defaults.add_uint32(pf::packet_defaults::timestamp_clock_id, pf::clock_monotonic);
  }
  Packet packet(trace);
  pbf_writer track(packet, pf::packet::track_descriptor);
  track.add_uint64(pf::track_descriptor::uuid, process_);
  pbf_writer process(track, pf::track_descriptor::process);
  process.add_int32(pf::process_descriptor::pid, pid_);
  std::string name = program_invocation_short_name;
  if (has_ranks) name += " (rank " + std::to_string(rank) + ")";
  process.add_string(pf::process_descriptor::name, name);
  return process_;
}

std::uint64_t Packets::add_track(std::uint64_t parent, std::string_view name) {
  pbf_writer trace(out_);
  Packet packet(trace);
  pbf_writer track(packet, pf::packet::track_descriptor);
  track.add_uint64(pf::track_descriptor::uuid, ++last_track_);
  track.add_uint64(pf::track_descriptor::parent_uuid, parent);
  track.add_string(pf::track_descriptor::name, name.data(), name.size());
  return last_track_;
}

std::uint64_t Packets::add_thread(std::int32_t number, std::string_view name) {
  describe_thread(++last_track_, number, name);
  return last_track_;
}

void Packets::rename_thread(std::uint64_t track, std::int32_t number, std::string_view name) {
  describe_thread(track, number, name);
}

void Packets::describe_thread(std::uint64_t uuid, std::int32_t number, std::string_view name) {
  pbf_writer trace(out_);
  Packet packet(trace);
  pbf_writer track(packet, pf::packet::track_descriptor);
  track.add_uint64(pf::track_descriptor::uuid, uuid);
  track.add_uint64(pf::track_descriptor::parent_uuid, process_);
  pbf_writer thread(track, pf::track_descriptor::thread);
  thread.add_int32(pf::thread_descriptor::pid, pid_);
  thread.add_int32(pf::thread_descriptor::tid, number);
  thread.add_string(pf::thread_descriptor::name, name.data(), name.size());
}

std::uint64_t Packets::add_byte_counter(std::uint64_t parent, std::string_view name) {
  pbf_writer trace(out_);
  Packet packet(trace);
  pbf_writer track(packet, pf::packet::track_descriptor);
  track.add_uint64(pf::track_descriptor::uuid, ++last_track_);
  track.add_uint64(pf::track_descriptor::parent_uuid, parent);
  track.add_string(pf::track_descriptor::name, name.data(), name.size());
  pbf_writer counter(track, pf::track_descriptor::counter);
  counter.add_enum(pf::counter_descriptor::unit, pf::unit_bytes);
  return last_track_;
}

void Packets::add_begin(const Slice& slice, int type) {
  const std::uint64_t name = names_.of(slice.name);
  const std::uint64_t category = categories_.of(slice.category);
  std::vector<std::uint64_t> annotation_names;
  annotation_names.reserve(slice.annotations.size());
  for (const Annotation& one : slice.annotations) annotation_names.push_back(annotation_names_.of(one.name));

  pbf_writer trace(out_);
  Packet packet(trace);
  packet.add_uint64(pf::packet::timestamp, slice.begin_ns);
  if (!names_.fresh.empty() || !categories_.fresh.empty() || !annotation_names_.fresh.empty()) {
    pbf_writer data(packet, pf::packet::interned_data);
    add_fresh(data, pf::interned_data::event_categories, categories_.fresh);
    add_fresh(data, pf::interned_data::event_names, names_.fresh);
    add_fresh(data, pf::interned_data::debug_annotation_names, annotation_names_.fresh);
  }
  pbf_writer event(packet, pf::packet::track_event);
  event.add_enum(pf::track_event::type, type);
  event.add_uint64(pf::track_event::track_uuid, slice.track);
  event.add_uint64(pf::track_event::name_iid, name);
  event.add_uint64(pf::track_event::category_iids, category);
  for (const std::uint64_t flow : slice.flows) event.add_fixed64(pf::track_event::flow_ids, flow);
  for (std::size_t i = 0; i < slice.annotations.size(); ++i) {
    add_annotation(event, slice.annotations[i], annotation_names[i]);
  }
}

void Packets::add(const Slice& slice) {
  begin_slice(slice);
  end_slice(slice.track, slice.end_ns);
}

void Packets::begin_slice(const Slice& slice) { add_begin(slice, pf::slice_begin); }

void Packets::end_slice(std::uint64_t track, std::uint64_t at_ns) {
  pbf_writer trace(out_);
  Packet packet(trace);
  packet.add_uint64(pf::packet::timestamp, at_ns);
  pbf_writer event(packet, pf::packet::track_event);
  event.add_enum(pf::track_event::type, pf::slice_end);
  event.add_uint64(pf::track_event::track_uuid, track);
}

void Packets::add_instant(const Slice& point) { add_begin(point, pf::instant); }

void Packets::count(std::uint64_t track, std::uint64_t at_ns, std::uint64_t value) {
  pbf_writer trace(out_);
  Packet packet(trace);
  packet.add_uint64(pf::packet::timestamp, at_ns);
  pbf_writer event(packet, pf::packet::track_event);
  event.add_enum(pf::track_event::type, pf::counter);
  event.add_uint64(pf::track_event::track_uuid, track);
  event.add_int64(pf::track_event::counter_value, static_cast<std::int64_t>(value));
}

}  // namespace anyplace::trace
