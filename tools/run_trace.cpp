// SPDX-License-Identifier: Apache-2.0
#include "run_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <protozero/exception.hpp>

// A damaged file may have a field of another wire type than the format's. protozero takes that for a mistake of the
// program and asserts. Here it ends the part of the file that can be read, as any other damage does.
#define protozero_assert(holds) ((holds) ? static_cast<void>(0) : throw protozero::unknown_pbf_wire_type_exception{})
#include <protozero/pbf_reader.hpp>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "layers/trace/perfetto.h"

namespace anyplace::tool {
namespace {

using protozero::pbf_reader;
namespace pf = perfetto;
using Names = std::unordered_map<std::uint64_t, std::string>;

/// The packets so far.
class PacketsRead {
 public:
  void add(pbf_reader packet) {
    std::uint64_t timestamp = 0;
    pbf_reader event;
    while (packet.next()) {
      switch (packet.tag()) {
        case pf::packet::timestamp:
          timestamp = packet.get_uint64();
          break;
        case pf::packet::interned_data:
          add_names(packet.get_message());
          break;
        case pf::packet::track_descriptor:
          add_track(packet.get_message());
          break;
        case pf::packet::track_event:
          event = packet.get_message();
          break;
        default:
          packet.skip();
      }
    }
    if (event.length() != 0) add_event(event, timestamp);
  }

  RunTrace take() {
    for (auto& [uuid, track] : tracks_) end_ranges(track);
    RunTrace trace;
    trace.slices = named(std::move(done_));
    trace.marks = named(std::move(marks_));
    for (auto& [uuid, track] : tracks_) {
      if (track.points.empty()) continue;
      std::stable_sort(track.points.begin(), track.points.end(),
                       [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
      trace.counters.push_back({at(track.parent).name, track.name, std::move(track.points)});
    }
    std::sort(trace.counters.begin(), trace.counters.end(), [](const TraceCounter& a, const TraceCounter& b) {
      return std::tie(a.device, a.name) < std::tie(b.device, b.name);
    });
    return trace;
  }

 private:
  struct Placed {
    std::uint64_t track = 0;
    TraceSlice slice;
  };
  struct Track {
    std::uint64_t uuid = 0;
    std::string name;
    std::uint64_t parent = 0;
    bool is_thread = false;
    bool is_process = false;
    std::vector<TraceSlice> open;
    std::vector<TraceCounter::Point> points;
  };

  const Track& at(std::uint64_t uuid) const {
    static const Track none;
    const auto found = tracks_.find(uuid);
    return found == tracks_.end() ? none : found->second;
  }

  /// The slices by their beginnings, with the names of their tracks, which may have come after them.
  std::vector<TraceSlice> named(std::vector<Placed> placed) {
    std::stable_sort(placed.begin(), placed.end(),
                     [](const Placed& a, const Placed& b) { return a.slice.begin_ns < b.slice.begin_ns; });
    std::vector<TraceSlice> slices;
    slices.reserve(placed.size());
    for (Placed& one : placed) {
      const Track& track = at(one.track);
      const Track& above = at(track.parent);
      one.slice.track = track.name;
      if (!above.is_process) one.slice.above = above.name;
      if (track.is_thread || above.is_thread) one.slice.thread = track.is_thread ? track.name : above.name;
      one.slice.is_execution = one.slice.thread.empty() && !one.slice.is_range();
      slices.push_back(std::move(one.slice));
    }
    return slices;
  }

  void end_ranges(Track& track) {
    for (TraceSlice& slice : track.open) {
      if (!slice.is_range()) continue;
      slice.end_ns = std::max(last_ns_, slice.begin_ns);
      done_.push_back({track.uuid, std::move(slice)});
    }
  }

  static void add_name(pbf_reader message, Names& names) {
    std::uint64_t number = 0;
    std::string name;
    while (message.next()) {
      if (message.tag() == pf::interned::iid) {
        number = message.get_uint64();
      } else if (message.tag() == pf::interned::name) {
        name = message.get_string();
      } else {
        message.skip();
      }
    }
    names[number] = name;
  }
  void add_names(pbf_reader data) {
    while (data.next()) {
      switch (data.tag()) {
        case pf::interned_data::event_categories:
          add_name(data.get_message(), categories_);
          break;
        case pf::interned_data::event_names:
          add_name(data.get_message(), names_);
          break;
        case pf::interned_data::debug_annotation_names:
          add_name(data.get_message(), annotations_);
          break;
        default:
          data.skip();
      }
    }
  }

  void add_track(pbf_reader descriptor) {
    Track track;
    while (descriptor.next()) {
      switch (descriptor.tag()) {
        case pf::track_descriptor::uuid:
          track.uuid = descriptor.get_uint64();
          break;
        case pf::track_descriptor::parent_uuid:
          track.parent = descriptor.get_uint64();
          break;
        case pf::track_descriptor::process:
          track.is_process = true;
          descriptor.skip();
          break;
        case pf::track_descriptor::name:
          track.name = descriptor.get_string();
          break;
        case pf::track_descriptor::thread: {
          track.is_thread = true;
          pbf_reader thread = descriptor.get_message();
          while (thread.next()) {
            if (thread.tag() == pf::thread_descriptor::name) {
              track.name += thread.get_string();
            } else if (thread.tag() == pf::thread_descriptor::tid) {
              track.name = std::to_string(thread.get_int32()) + " ";
            } else {
              thread.skip();
            }
          }
          break;
        }
        default:
          descriptor.skip();
      }
    }
    // A thread's track comes again when the thread gets a name.
    Track& known = tracks_[track.uuid];
    track.open = std::move(known.open);
    track.points = std::move(known.points);
    known = std::move(track);
  }

  void add_annotation(pbf_reader annotation, TraceSlice& slice) {
    std::string name, text;
    std::optional<std::uint64_t> number;
    while (annotation.next()) {
      switch (annotation.tag()) {
        case pf::debug_annotation::name_iid:
          name = annotations_[annotation.get_uint64()];
          break;
        case pf::debug_annotation::uint_value:
        case pf::debug_annotation::pointer_value:
          number = annotation.get_uint64();
          break;
        case pf::debug_annotation::int_value:
          number = static_cast<std::uint64_t>(annotation.get_int64());
          break;
        case pf::debug_annotation::double_value:
          text = fmt::format("{}", annotation.get_double());
          break;
        case pf::debug_annotation::string_value:
          text = annotation.get_string();
          break;
        default:
          annotation.skip();
      }
    }
    if (number) {
      slice.numbers[name] = *number;
    } else if (!text.empty()) {
      slice.texts[name] = text;
    }
  }

  void add_event(pbf_reader event, std::uint64_t timestamp) {
    TraceSlice slice;
    std::int32_t type = 0;
    std::uint64_t track = 0, value = 0;
    while (event.next()) {
      switch (event.tag()) {
        case pf::track_event::type:
          type = event.get_enum();
          break;
        case pf::track_event::track_uuid:
          track = event.get_uint64();
          break;
        case pf::track_event::name_iid:
          slice.name = names_[event.get_uint64()];
          break;
        case pf::track_event::category_iids:
          slice.category = categories_[event.get_uint64()];
          break;
        case pf::track_event::counter_value:
          value = static_cast<std::uint64_t>(event.get_int64());
          break;
        case pf::track_event::debug_annotations:
          add_annotation(event.get_message(), slice);
          break;
        default:
          event.skip();
      }
    }
    Track& of = tracks_[track];
    of.uuid = track;
    last_ns_ = std::max(last_ns_, timestamp);
    slice.begin_ns = slice.end_ns = timestamp;
    if (type == pf::slice_begin) {
      of.open.push_back(std::move(slice));
    } else if (type == pf::slice_end && !of.open.empty()) {
      of.open.back().end_ns = std::max(timestamp, of.open.back().begin_ns);
      done_.push_back({track, std::move(of.open.back())});
      of.open.pop_back();
    } else if (type == pf::instant) {
      marks_.push_back({track, std::move(slice)});
    } else if (type == pf::counter) {
      of.points.push_back({timestamp, value});
    }
  }

  Names names_, categories_, annotations_;
  std::unordered_map<std::uint64_t, Track> tracks_;
  std::vector<Placed> done_, marks_;
  std::uint64_t last_ns_ = 0;
};

}  // namespace

RunTrace read_run_trace(std::string_view bytes) {
  PacketsRead packets;
  bool is_cut = false;
  std::size_t whole = 0;
  try {
    pbf_reader trace(bytes.data(), bytes.size());
    while (trace.next()) {
      if (trace.tag() != pf::trace::packet) {
        throw std::runtime_error("it is no trace in Perfetto's format: after " + std::to_string(whole) +
                                 " packets comes something else");
      }
      packets.add(trace.get_message());
      ++whole;
    }
  } catch (const protozero::exception&) {
    is_cut = true;
  }
  if (whole == 0) throw std::runtime_error("it has no packet of Perfetto's format");
  RunTrace read = packets.take();
  read.is_cut = is_cut;
  return read;
}

}  // namespace anyplace::tool
