// SPDX-License-Identifier: Apache-2.0
//
// What the program annotates, as slices and points. A pushed range is on its thread's track, around the calls in it.
// Ranges of further domains don't nest in those, so each such domain has a track below the thread's; and ranges that
// were started overlap as they like, so each has a lane to itself until it ends.
//
// A range is begun in the file when it begins, so a process that dies leaves the ranges that were open.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "timeline.h"

namespace anyplace::trace {
namespace {

const char* text_at(const Record& record, AnnotationValue where) noexcept {
  return backend::from_handle<const char>(record.values[where]);
}

/// The name and the attributes; track and end are still missing.
Slice slice_of(const Record& record, const char* category) {
  Slice slice{0, record.begin_ns, record.end_ns, {}, category};
  if (record.text != nullptr) slice.name = *record.text;
  const auto add_text = [&](const char* name, AnnotationValue where) {
    if (const char* const text = text_at(record, where); *text != '\0') {
      slice.annotations.push_back({name, Annotation::Kind::text, 0, text});
    }
  };
  add_text("domain", annotation_domain);
  add_text("category", annotation_category);
  const std::uint64_t payload = record.values[annotation_payload];
  switch (record.values[annotation_payload_kind]) {
    case ANYPLACE_ANNOTATION_I64:
      slice.annotations.push_back({"payload", Annotation::Kind::signed_number, payload});
      break;
    case ANYPLACE_ANNOTATION_U64:
      slice.annotations.push_back({"payload", Annotation::Kind::number, payload});
      break;
    case ANYPLACE_ANNOTATION_F64:
      slice.annotations.push_back({"payload", Annotation::Kind::real, payload});
      break;
    default:
      break;
  }
  if (const std::uint64_t color = record.values[annotation_color]; color != 0) {
    char text[8];
    std::snprintf(text, sizeof(text), "#%06x", static_cast<unsigned>(color & 0xffffff));
    slice.annotations.push_back({"color", Annotation::Kind::text, 0, text});
  }
  if (const std::uint64_t stream = record.values[annotation_stream]; stream != 0) {
    slice.annotations.push_back({"stream", Annotation::Kind::number, stream});
  }
  return slice;
}

}  // namespace

void Timeline::add_annotation(const Record& record, std::uint64_t thread) {
  if (!is_on_) return;
  switch (record.values[annotation_kind]) {
    case ANYPLACE_ANNOTATION_RANGE_PUSHED:
      return push_range(record, thread, slice_of(record, "range"));
    case ANYPLACE_ANNOTATION_RANGE_POPPED:
      return pop_range(record, thread);
    case ANYPLACE_ANNOTATION_RANGE_STARTED:
      return start_range(record, slice_of(record, "range"));
    case ANYPLACE_ANNOTATION_RANGE_ENDED:
      return end_range(record);
    case ANYPLACE_ANNOTATION_MARK: {
      Slice mark = slice_of(record, "mark");
      mark.track = mark_track(thread, record.values[annotation_stream]);
      return packets_.add_instant(mark);
    }
    case ANYPLACE_ANNOTATION_THREAD_NAMED:
      return name_thread(record, thread);
    default:
      return;
  }
}

std::uint64_t Timeline::range_track(std::uint64_t thread, const std::string& domain) {
  std::uint64_t& track = threads_[thread].ranges[domain].track;
  const std::uint64_t of_thread = thread_track(thread);
  if (track == 0) track = domain.empty() ? of_thread : packets_.add_track(of_thread, domain);
  return track;
}

std::uint64_t Timeline::mark_track(std::uint64_t thread, std::uint64_t id) {
  if (id == 0) return thread_track(thread);
  for (auto& [backend, objects] : backends_) {
    for (auto& [handle, stream] : objects.streams) {
      if (stream->id != id) continue;
      if (stream->lanes.empty()) static_cast<void>(lane(*backend, *stream, 0, 0));
      return stream->lanes.front();
    }
  }
  return thread_track(thread);
}

void Timeline::push_range(const Record& record, std::uint64_t thread, Slice slice) {
  const std::string domain = text_at(record, annotation_domain);
  slice.track = range_track(thread, domain);
  packets_.begin_slice(slice);
  threads_[thread].ranges[domain].depths.push_back(static_cast<std::int32_t>(record.values[annotation_depth]));
}

void Timeline::pop_range(const Record& record, std::uint64_t thread) {
  // A range that was pushed before the trace began isn't among those that are open. One whose pop was dropped ends with
  // the range around it.
  OpenRanges& open = threads_[thread].ranges[text_at(record, annotation_domain)];
  const auto depth = static_cast<std::int32_t>(record.values[annotation_depth]);
  while (!open.depths.empty() && open.depths.back() >= depth) {
    packets_.end_slice(open.track, record.begin_ns);
    open.depths.pop_back();
  }
}

void Timeline::start_range(const Record& record, Slice slice) {
  auto free =
      std::find_if(range_lanes_.begin(), range_lanes_.end(), [](const RangeLane& one) { return one.range == 0; });
  if (free == range_lanes_.end()) {
    if (ranges_track_ == 0) ranges_track_ = packets_.add_track(process_track_, "ranges");
    const std::string name = "ranges, lane " + std::to_string(range_lanes_.size() + 1);
    range_lanes_.push_back({packets_.add_track(ranges_track_, name)});
    free = range_lanes_.end() - 1;
  }
  free->range = record.values[annotation_range];
  slice.track = free->track;
  packets_.begin_slice(slice);
}

void Timeline::end_range(const Record& record) {
  const auto is_it = [&](const RangeLane& one) { return one.range == record.values[annotation_range]; };
  const auto found = std::find_if(range_lanes_.begin(), range_lanes_.end(), is_it);
  if (found == range_lanes_.end()) return;  // it was started before the trace began
  packets_.end_slice(found->track, record.begin_ns);
  found->range = 0;
}

void Timeline::name_thread(const Record& record, std::uint64_t thread) {
  Thread& known = threads_[thread];
  known.name = record.text == nullptr ? "" : *record.text;
  if (known.track != 0) packets_.rename_thread(known.track, known.number, known.name);
}

}  // namespace anyplace::trace
