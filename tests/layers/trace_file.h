// SPDX-License-Identifier: Apache-2.0
// What protoc, a reader of its own, finds in a file that the layer `trace` wrote.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/process.h"

namespace trace_file {

using test::set_env;

/// A slice, or a point in time, whose end is its beginning. An `end` of 0: it doesn't end.
struct Slice {
  std::string name;
  std::uint64_t begin = 0, end = 0;
  std::set<std::string> flows;
  std::map<std::string, std::string> annotations = {};
};
/// The slices of each track, by the track's name.
using Tracks = std::map<std::string, std::vector<Slice>>;

/// The file in protoc's words, which are "key: value" and "key {" ... "}", one a line.
inline std::string decoded(const std::string& path) {
  const std::string command =
      std::string(ANYPLACE_PROTOC) + " --decode=Trace -I" +
      std::string(ANYPLACE_TRACE_SCHEMA).substr(0, std::string(ANYPLACE_TRACE_SCHEMA).rfind('/')) + " " +
      ANYPLACE_TRACE_SCHEMA + " <" + path;
  const test::Ended ended = test::Process({"/bin/sh", "-c", command}).end();
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  return ended.out;
}

/// The values of a packet by the path of their keys ("track_event.type").
using Packet = std::multimap<std::string, std::string>;

inline std::vector<Packet> packets_of(const std::string& path) {
  std::vector<Packet> packets;
  std::vector<std::string> keys;
  std::istringstream lines(decoded(path));
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line == "packet {") packets.emplace_back();
    if (line.ends_with(" {")) {
      keys.push_back(line.substr(0, line.size() - 2));
    } else if (line == "}") {
      keys.pop_back();
    } else {
      std::string key;
      for (std::size_t i = 1; i < keys.size(); ++i) key += keys[i] + ".";
      const std::size_t colon = line.find(": ");
      std::string value = line.substr(colon + 2);
      if (value.front() == '"') value = value.substr(1, value.size() - 2);
      packets.back().emplace(key + line.substr(0, colon), value);
    }
  }
  return packets;
}

inline std::string first(const Packet& packet, const std::string& key) {
  const auto found = packet.find(key);
  return found == packet.end() ? "" : found->second;
}

/// The names that numbers stand for, of one kind ("event_names").
inline void add_names(const Packet& packet, const std::string& kind, std::map<std::string, std::string>& names) {
  // Equal keys are in the order of the file.
  auto name = packet.lower_bound("interned_data." + kind + ".name");
  for (auto [iid, end] = packet.equal_range("interned_data." + kind + ".iid"); iid != end; ++iid) {
    names[iid->second] = (name++)->second;
  }
}

class TrackReader {
 public:
  void add(const Packet& packet) {
    add_names(packet, "event_names", names_);
    add_names(packet, "debug_annotation_names", keys_);
    const std::string thread = first(packet, "track_descriptor.thread.thread_name");
    const std::string uuid = first(packet, "track_descriptor.uuid");
    if (!uuid.empty()) {
      // A thread's track comes again when the thread gets a name.
      REQUIRE((tracks_.count(uuid) == 0 || !thread.empty()));
      tracks_[uuid] = thread.empty() ? first(packet, "track_descriptor.name") : "thread";
      if (!thread.empty()) threads_.insert(thread);
    }
    const std::string type = first(packet, "track_event.type");
    const std::string track = first(packet, "track_event.track_uuid");
    if (type.empty()) return;
    REQUIRE(tracks_.count(track) == 1);
    std::vector<Slice>& of_track = slices_[tracks_[track]];
    const std::uint64_t at = std::stoull(first(packet, "timestamp"));
    if (type == "TYPE_SLICE_BEGIN" || type == "TYPE_INSTANT") {
      of_track.push_back(slice_of(packet, at));
      if (type == "TYPE_INSTANT") {
        of_track.back().end = at;
      } else {
        open_[track].push_back(of_track.size() - 1);
      }
    } else if (type == "TYPE_SLICE_END") {
      REQUIRE_FALSE(open_[track].empty());
      of_track[open_[track].back()].end = at;
      open_[track].pop_back();
    }
  }
  const Tracks& slices() const { return slices_; }
  const std::set<std::string>& threads() const { return threads_; }

 private:
  Slice slice_of(const Packet& packet, std::uint64_t at) const {
    Slice slice{names_.at(first(packet, "track_event.name_iid")), at, 0, {}};
    const auto [flow, end] = packet.equal_range("track_event.flow_ids");
    for (auto one = flow; one != end; ++one) slice.flows.insert(one->second);
    const std::string prefix = "track_event.debug_annotations.";
    // Each has one value, so the values of one kind are in the order of the names; texts are all that is asked for.
    std::vector<std::string> texts;
    for (auto [text, last] = packet.equal_range(prefix + "string_value"); text != last; ++text)
      texts.push_back(text->second);
    for (auto [key, last] = packet.equal_range(prefix + "name_iid"); key != last; ++key) {
      const std::string& name = keys_.at(key->second);
      const bool is_text = name == "category" || name == "color" || name == "domain";
      if (!is_text || texts.empty()) continue;
      slice.annotations[name] = texts.front();
      texts.erase(texts.begin());
    }
    if (const std::string payload = first(packet, prefix + "int_value"); !payload.empty())
      slice.annotations["payload"] = payload;
    return slice;
  }

  std::map<std::string, std::string> names_, keys_, tracks_;
  std::map<std::string, std::vector<std::size_t>> open_;  // places in the slices of the track's name
  std::set<std::string> threads_;
  Tracks slices_;
};

inline TrackReader read_tracks(const std::string& path) {
  TrackReader reader;
  for (const Packet& packet : packets_of(path)) reader.add(packet);
  return reader;
}
inline Tracks tracks_of(const std::string& path) { return read_tracks(path).slices(); }

inline std::vector<Slice> named(const std::vector<Slice>& slices, const std::string& name) {
  std::vector<Slice> found;
  std::copy_if(slices.begin(), slices.end(), std::back_inserter(found),
               [&](const auto& one) { return one.name == name; });
  return found;
}

/// What runs on streams.
inline std::vector<Slice> executions_of(const Tracks& tracks) {
  std::vector<Slice> all;
  for (const auto& [track, slices] : tracks) {
    if (track.find("stream") != std::string::npos) all.insert(all.end(), slices.begin(), slices.end());
  }
  return all;
}

inline void use_trace(const std::string& file) {
  set_env("ANYPLACE_LAYERS", "trace");
  set_env("ANYPLACE_TRACE", file);
}

}  // namespace trace_file
