// SPDX-License-Identifier: Apache-2.0
//
// The collectives of many small arrays. Those of one type are put together in a buffer, which is sent as one. A group
// ends before it would be larger than the caller wants; an array that is larger alone is a group of its own, and isn't
// copied.
#include <fmt/format.h>

#include "anyplace/comm.h"
#include "comm/checks.h"
#include "comm/transfers.h"
#include "runtime/call.h"

namespace anyplace::comm {
namespace {

using namespace detail;

/// A group is the indices of its arrays.
using Group = std::vector<std::size_t>;

std::vector<Group> group(const std::vector<Array>& arrays, std::uint64_t buffer_size) {
  struct Open {
    DType dtype;
    Group group;
    std::uint64_t bytes;
  };
  std::vector<Group> groups;
  std::vector<Open> open;  // there is one for each type
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    Open* found = nullptr;
    for (Open& each : open) {
      if (each.dtype == arrays[i].dtype()) found = &each;
    }
    if (found == nullptr) found = &open.emplace_back(Open{arrays[i].dtype(), {}, 0});
    const std::uint64_t bytes = arrays[i].size_bytes();
    if (!found->group.empty() && (bytes > buffer_size || found->bytes > buffer_size - bytes)) {
      groups.push_back(std::move(found->group));
      found->group.clear();
      found->bytes = 0;
    }
    found->group.push_back(i);
    found->bytes += bytes;
  }
  for (Open& each : open) groups.push_back(std::move(each.group));
  return groups;
}

/// Puts the arrays one behind the other, in one dimension, on the current stream of their device.
Array flatten(const std::vector<Array>& arrays, const Group& group) {
  const Array& first = arrays[group.front()];
  const StreamView stream = current_stream_of_array(first);
  if (group.size() == 1) return contiguous(first, stream).reshape({-1});
  std::int64_t size = 0;
  for (const std::size_t i : group) size += arrays[i].size();
  Array flat(stream, first.dtype(), {size});
  std::int64_t begin = 0;
  for (const std::size_t i : group) {
    const std::int64_t end = begin + arrays[i].size();
    copy(stream, flat.slice(0, begin, end).reshape(arrays[i].shape()), arrays[i]);
    begin = end;
  }
  return flat;
}

/// Puts the parts of `flat` where the arrays of the group are.
void unflatten(const Array& flat, const std::vector<Array>& like, const Group& group, std::vector<Array>& to) {
  std::int64_t begin = 0;
  for (const std::size_t i : group) {
    const std::int64_t end = begin + like[i].size();
    to[i] = flat.slice(0, begin, end).reshape(like[i].shape());
    begin = end;
  }
}

}  // namespace

std::vector<std::vector<Array>> broadcast_coalesced(const std::vector<Array>& arrays,
                                                    const std::vector<Device>& devices, std::uint64_t buffer_size) {
  constexpr const char* operation = "comm::broadcast_coalesced";
  enter(operation);
  if (devices.empty()) refuse(operation, {}, "there are no devices\ngive at least the one that the arrays are on");
  for (const Device& device : devices) require_usable(device, operation);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string name = fmt::format("array {}", i);
    require_on_device(arrays[i], name, operation);
    if (is_on(arrays[i], devices.front())) continue;
    refuse(operation, arrays[i].place().to_string(),
           fmt::format("{} is of {}, and the first of `devices` is {}\nall arrays are on the first device", name,
                       arrays[i].place().to_string(), devices.front().to_string()));
  }
  std::vector<std::vector<Array>> results(devices.size(), std::vector<Array>(arrays.size()));
  results.front() = arrays;
  if (devices.size() == 1) return results;
  std::vector<StreamView> streams;
  for (const Device& device : devices) streams.push_back(current_stream(device));
  const Joined joined(streams);
  for (const Group& each : group(arrays, buffer_size)) {
    const std::vector<Array> copies = broadcast(flatten(arrays, each), {.devices = devices});
    for (std::size_t i = 1; i < devices.size(); ++i) unflatten(copies[i], arrays, each, results[i]);
  }
  joined.finish();
  return results;
}

std::vector<Array> reduce_add_coalesced(const std::vector<std::vector<Array>>& inputs,
                                        const std::optional<Device>& destination, std::uint64_t buffer_size) {
  constexpr const char* operation = "comm::reduce_add_coalesced";
  enter(operation);
  if (inputs.empty()) refuse(operation, {}, "there are no inputs\ngive a list of arrays for each device");
  const std::vector<Array>& first = inputs.front();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].size() != first.size()) {
      refuse(operation, {},
             fmt::format("list {} has {} arrays, and list 0 has {}\nall lists are of the same length", k,
                         inputs[k].size(), first.size()));
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      const std::string name = fmt::format("array {} of list {}", i, k);
      require_on_device(inputs[k][i], name, operation);
      require_same_dtype(inputs[k][i], first[i].dtype(), name, operation);
      require_same_shape(inputs[k][i], first[i].shape(), name, operation);
      if (is_on(inputs[k][i], inputs[k].front().device())) continue;
      refuse(operation, inputs[k][i].place().to_string(),
             fmt::format("{} is of {}, and the list's first array of {}\na list is of one device", name,
                         inputs[k][i].place().to_string(), inputs[k].front().place().to_string()));
    }
  }
  if (first.empty()) return {};
  std::vector<Array> heads;
  for (const std::vector<Array>& list : inputs) heads.push_back(list.front());
  const Device device = require_destination(heads, destination, operation);
  std::vector<StreamView> streams{current_stream(device)};
  for (const Array& head : heads) streams.push_back(current_stream_of_array(head));
  const Joined joined(streams);
  std::vector<Array> sums(first.size());
  for (const Group& each : group(first, buffer_size)) {
    std::vector<Array> flat;
    for (const std::vector<Array>& list : inputs) flat.push_back(flatten(list, each));
    unflatten(reduce_add(flat, device), first, each, sums);
  }
  joined.finish();
  return sums;
}

}  // namespace anyplace::comm
