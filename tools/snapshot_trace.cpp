// SPDX-License-Identifier: Apache-2.0
#include "snapshot_trace.h"

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "input_file.h"
#include "pickle_reader.h"
#include "stream_indices.h"

namespace anyplace::tool {
namespace {

using Kind = PickleValue::Kind;

constexpr const char* how_to_make_one =
    "torch.cuda.memory._record_memory_history() before the program's work, and "
    "torch.cuda.memory._dump_snapshot(\"FILE\") after it, make one";

class Reader {
 public:
  Reader(const Pickle& pickle, std::string at) : pickle_(pickle), at_(std::move(at)) {}

  void add(const PickleValue& event) {
    if (event.kind != Kind::dict) fail("is no dict");
    const std::optional<PickleValue> action = pickle_.find(event, "action");
    if (!action || action->kind != Kind::text) fail("has no action");
    const std::string_view what = pickle_.text(*action);
    if (what == "alloc") allocate(event);
    if (what == "free_completed") free(event);
    ++index_;
  }
  Trace take() && { return std::move(trace_).take(); }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(at_ + "[" + std::to_string(index_) + "] " + problem);
  }

  std::uint64_t number(const PickleValue& event, const char* key) const {
    const std::optional<PickleValue> value = pickle_.find(event, key);
    if (!value) fail(std::string("has no ") + key);
    if (value->kind != Kind::integer || value->negative) fail(std::string(key) + " is no number from 0 to 2^64 - 1");
    return value->content;
  }

  void allocate(const PickleValue& event) {
    const std::uint64_t address = number(event, "addr");
    const std::uint64_t bytes = number(event, "size");
    const auto [found, added] = live_.try_emplace(address, 0);
    if (!added) fail("allocates at address " + std::to_string(address) + ", which is still live");
    if (!trace_.has_room(bytes)) fail("brings the bytes that are live to 2^64 or more");
    found->second = trace_.allocate(bytes, streams_.of(number(event, "stream")));
  }

  void free(const PickleValue& event) {
    const auto found = live_.find(number(event, "addr"));
    if (found == live_.end()) return trace_.leave_out();
    trace_.free(found->second);
    live_.erase(found);
  }

  const Pickle& pickle_;
  std::string at_;
  std::size_t index_ = 0;
  TraceBuilder trace_;
  std::unordered_map<std::uint64_t, std::uint32_t> live_;  ///< the slot of an allocation, by its address
  StreamIndices streams_;
};

/// Chooses the device; returns its index in device_traces.
std::size_t choose(const Pickle& pickle, const std::vector<PickleValue>& devices,
                   std::optional<std::uint32_t> asked_for) {
  std::string there;
  std::size_t count = 0;
  std::size_t only = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (pickle.items(devices[i]).empty()) continue;
    there += (there.empty() ? "" : ", ") + std::to_string(i);
    ++count;
    only = i;
  }
  if (count == 0) throw InputError(std::string("is a snapshot without a history; ") + how_to_make_one);
  if (asked_for) {
    if (*asked_for < devices.size() && !pickle.items(devices[*asked_for]).empty()) return *asked_for;
    throw InputError("has no history of device " + std::to_string(*asked_for) + "; it has that of " + there);
  }
  if (count > 1) throw InputError("has the history of the devices " + there + "; --device says which to replay");
  return only;
}

}  // namespace

Trace trace_of_snapshot(std::string file, std::optional<std::uint32_t> device) {
  const Pickle pickle(std::move(file));
  const std::optional<PickleValue> traces = pickle.find(pickle.root(), "device_traces");
  if (!traces || traces->kind != Kind::list) {
    throw InputError(std::string("is a pickle, but no memory snapshot: it is no dict with a list device_traces; ") +
                     how_to_make_one);
  }
  const std::vector<PickleValue>& devices = pickle.items(*traces);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].kind != Kind::list) throw InputError("device_traces[" + std::to_string(i) + "] is no list");
  }
  const std::size_t chosen = choose(pickle, devices, device);
  Reader reader(pickle, "device_traces[" + std::to_string(chosen) + "]");
  for (const PickleValue& event : pickle.items(devices[chosen])) reader.add(event);
  return std::move(reader).take();
}

}  // namespace anyplace::tool
