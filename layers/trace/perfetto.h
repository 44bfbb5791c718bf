// SPDX-License-Identifier: Apache-2.0
//
// The fields of Perfetto's trace format that a trace of anyplace uses: their numbers, as the schema in
// https://github.com/google/perfetto/tree/main/protos/perfetto/trace has them. A trace is a row of packets.
#pragma once

#include <protozero/types.hpp>

namespace anyplace::perfetto {

using Tag = protozero::pbf_tag_type;

namespace trace {
inline constexpr Tag packet = 1;
}

namespace packet {
inline constexpr Tag clock_snapshot = 6;
inline constexpr Tag timestamp = 8;
inline constexpr Tag sequence_id = 10;  // trusted_packet_sequence_id
inline constexpr Tag track_event = 11;
inline constexpr Tag interned_data = 12;
inline constexpr Tag sequence_flags = 13;
inline constexpr Tag defaults = 59;  // trace_packet_defaults
inline constexpr Tag track_descriptor = 60;
}  // namespace packet
inline constexpr unsigned incremental_state_cleared = 1;
inline constexpr unsigned needs_incremental_state = 2;

namespace packet_defaults {
inline constexpr Tag timestamp_clock_id = 58;
}

namespace clock_snapshot {
inline constexpr Tag clocks = 1;
inline constexpr Tag primary_trace_clock = 2;
}  // namespace clock_snapshot
namespace clock {
inline constexpr Tag id = 1;
inline constexpr Tag timestamp = 2;
}  // namespace clock
inline constexpr unsigned clock_realtime = 1;
inline constexpr unsigned clock_monotonic = 3;
inline constexpr unsigned clock_boottime = 6;

namespace track_descriptor {
inline constexpr Tag uuid = 1;
inline constexpr Tag name = 2;
inline constexpr Tag process = 3;
inline constexpr Tag thread = 4;
inline constexpr Tag parent_uuid = 5;
inline constexpr Tag counter = 8;
}  // namespace track_descriptor
namespace process_descriptor {
inline constexpr Tag pid = 1;
inline constexpr Tag name = 6;  // process_name
}  // namespace process_descriptor
namespace thread_descriptor {
inline constexpr Tag pid = 1;
inline constexpr Tag tid = 2;
inline constexpr Tag name = 5;  // thread_name
}  // namespace thread_descriptor
namespace counter_descriptor {
inline constexpr Tag unit = 3;
}
inline constexpr int unit_bytes = 3;  // UNIT_SIZE_BYTES

namespace track_event {
inline constexpr Tag category_iids = 3;
inline constexpr Tag debug_annotations = 4;
inline constexpr Tag type = 9;
inline constexpr Tag name_iid = 10;
inline constexpr Tag track_uuid = 11;
inline constexpr Tag counter_value = 30;
inline constexpr Tag flow_ids = 47;  // fixed64
}  // namespace track_event
inline constexpr int slice_begin = 1;
inline constexpr int slice_end = 2;
inline constexpr int instant = 3;
inline constexpr int counter = 4;

namespace debug_annotation {
inline constexpr Tag name_iid = 1;
inline constexpr Tag uint_value = 3;
inline constexpr Tag int_value = 4;
inline constexpr Tag double_value = 5;
inline constexpr Tag string_value = 6;
inline constexpr Tag pointer_value = 7;
}  // namespace debug_annotation

namespace interned_data {
inline constexpr Tag event_categories = 1;
inline constexpr Tag event_names = 2;
inline constexpr Tag debug_annotation_names = 3;
}  // namespace interned_data
namespace interned {  // EventCategory, EventName, DebugAnnotationName
inline constexpr Tag iid = 1;
inline constexpr Tag name = 2;
}  // namespace interned

}  // namespace anyplace::perfetto
