// SPDX-License-Identifier: Apache-2.0
//
// broadcast() copies from the source to each device, on the device's own stream. There is no tree and no ring, because
// a chain was measured on cpu_sim and was mostly slower (bench/README.md).
#include <fmt/format.h>

#include "anyplace/comm.h"
#include "comm/checks.h"
#include "comm/transfers.h"
#include "runtime/call.h"

namespace anyplace::comm {

std::vector<Array> broadcast(const Array& array, const Targets& targets) {
  using namespace detail;
  constexpr const char* operation = "comm::broadcast";
  enter(operation);
  require_one_target(targets, operation);
  require_array(array, "the array", operation);
  const bool is_first = !array.is_on_host() && targets.out.empty();
  if (is_first && !is_on(array, targets.devices.front())) {
    refuse(operation, array.place().to_string(),
           fmt::format("the array is of {}, and the first of `devices` is {}\nthe array's device comes first",
                       array.place().to_string(), targets.devices.front().to_string()));
  }
  for (std::size_t i = 0; i < targets.out.size(); ++i) {
    const std::string name = fmt::format("`out` array {}", i);
    require_on_device(targets.out[i], name, operation);
    require_same_dtype(targets.out[i], array.dtype(), name, operation);
    require_same_shape(targets.out[i], array.shape(), name, operation);
  }
  require_apart(targets.out, {array}, operation);

  const CommSide source{array, current_stream_of_array(array)};
  std::vector<StreamView> streams;
  for (const Device& device : targets.devices) streams.push_back(current_stream(device));
  for (const Array& each : targets.out) streams.push_back(current_stream_of_array(each));
  std::vector<StreamView> all = streams;
  all.push_back(source.stream);
  const Joined joined(all);
  std::vector<Array> results = targets.out;
  for (std::size_t i = 0; i < targets.devices.size(); ++i) {
    const bool itself = is_first && i == 0;
    results.push_back(itself ? array : Array(streams[i], array.dtype(), array.shape()));
  }
  for (std::size_t i = is_first ? 1 : 0; i < results.size(); ++i) transfer_to({results[i], streams[i]}, source);
  joined.finish();
  return results;
}

}  // namespace anyplace::comm
