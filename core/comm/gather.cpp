// SPDX-License-Identifier: Apache-2.0
// gather() copies each array to its part of the result, on the stream of its own device.
#include <fmt/format.h>

#include "anyplace/comm.h"
#include "comm/checks.h"
#include "comm/transfers.h"
#include "runtime/call.h"

namespace anyplace::comm {
namespace {

using namespace detail;

constexpr const char* gather_operation = "comm::gather";

/// Gives the extents of the result.
Extents require_gatherable(const std::vector<Array>& arrays, std::int64_t dim) {
  if (arrays.empty()) refuse(gather_operation, {}, "there are no arrays\ngive at least one to gather from");
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    require_on_device(arrays[i], fmt::format("array {}", i), gather_operation);
  }
  Extents shape = arrays.front().shape();
  const std::size_t at = require_dim(arrays.front(), dim, gather_operation);
  std::int64_t extent = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string name = fmt::format("array {}", i);
    require_same_dtype(arrays[i], arrays.front().dtype(), name, gather_operation);
    require_same_but(arrays[i], shape, at, name, gather_operation);
    if (__builtin_add_overflow(extent, arrays[i].shape()[at], &extent)) {
      refuse(gather_operation, arrays[i].place().to_string(),
             fmt::format("dimension {} of all arrays together is more than 2^63", at));
    }
  }
  shape[at] = extent;
  return shape;
}

void require_target(const std::vector<Array>& arrays, const Extents& shape, const GatherTarget& target) {
  if (target.destination && !target.destination->is_host()) {
    require_usable(target.destination->device(), gather_operation);
  }
  if (!target.out) return;
  if (target.destination) {
    refuse(gather_operation, target.destination->to_string(),
           "both `destination` and `out` are given\ngive one of them, or none for the current device");
  }
  require_array(*target.out, "`out`", gather_operation);
  require_same_dtype(*target.out, arrays.front().dtype(), "`out`", gather_operation);
  require_same_shape(*target.out, shape, "`out`", gather_operation);
  require_apart({*target.out}, arrays, gather_operation);
}

ArrayPlace place_of(const std::vector<Array>& arrays, const GatherTarget& target) {
  if (target.out) return target.out->place();
  return target.destination ? *target.destination : current_device(arrays.front().device().backend());
}

}  // namespace

Array gather(const std::vector<Array>& arrays, std::int64_t dim, const GatherTarget& target) {
  enter(gather_operation);
  const Extents shape = require_gatherable(arrays, dim);
  const auto at = static_cast<std::int64_t>(require_dim(arrays.front(), dim, gather_operation));
  require_target(arrays, shape, target);
  const ArrayPlace place = place_of(arrays, target);
  // Memory of the host is used in the order of the first array's stream, and the other streams join that one.
  const StreamView stream = current_stream(place.is_host() ? arrays.front().device() : place.device());
  std::vector<StreamView> streams{stream};
  for (const Array& array : arrays) streams.push_back(current_stream_of_array(array));
  const Joined joined(streams);
  const DType dtype = arrays.front().dtype();
  Array result = target.out        ? *target.out
                 : place.is_host() ? Array::on_host(stream, dtype, shape)
                                   : Array(stream, dtype, shape);
  std::int64_t begin = 0;
  for (const Array& array : arrays) {
    const std::int64_t end = begin + array.size(at);
    transfer_from({result.slice(at, begin, end), stream}, {array, current_stream_of_array(array)});
    begin = end;
  }
  joined.finish();
  return result;
}

}  // namespace anyplace::comm
