// SPDX-License-Identifier: Apache-2.0
// scatter() copies pieces along a dimension, each on the stream of the device that gets it.
#include <fmt/format.h>

#include <algorithm>

#include "anyplace/comm.h"
#include "comm/checks.h"
#include "comm/transfers.h"
#include "runtime/call.h"

namespace anyplace::comm {
namespace {

using namespace detail;

constexpr const char* scatter_operation = "comm::scatter";

void require_sum(const std::vector<std::int64_t>& sizes, const Array& array, std::size_t dim, const char* of) {
  std::int64_t sum = 0;
  bool fits = true;
  for (const std::int64_t size : sizes) fits = fits && !__builtin_add_overflow(sum, size, &sum);
  if (fits && sum == array.shape()[dim]) return;
  refuse(scatter_operation, array.place().to_string(),
         fmt::format("{} add up to {}, and dimension {} of the array has {}\nthe pieces are all of it", of,
                     fits ? std::to_string(sum) : "more than 2^63", dim, array.shape()[dim]));
}

/// Gives the extents of the pieces that become new arrays.
std::vector<std::int64_t> sizes_of_pieces(const Array& array, std::size_t dim, const Targets& targets,
                                          const ScatterOptions& options) {
  const std::size_t devices = targets.devices.size();
  if (!options.chunk_sizes.empty()) {
    if (options.chunk_sizes.size() != devices) {
      refuse(scatter_operation, array.place().to_string(),
             fmt::format("there are {} chunk_sizes and {} devices\ngive one for each", options.chunk_sizes.size(),
                         devices));
    }
    for (const std::int64_t size : options.chunk_sizes) {
      if (size >= 0) continue;
      refuse(scatter_operation, array.place().to_string(), fmt::format("chunk size {} is negative", size));
    }
    require_sum(options.chunk_sizes, array, dim, "the chunk_sizes");
    return options.chunk_sizes;
  }
  // torch's chunk() divides like this: pieces have the size that makes so many of them, until nothing is left.
  const std::int64_t extent = array.shape()[dim];
  const auto count = static_cast<std::int64_t>(devices);
  const std::int64_t size = std::max<std::int64_t>(extent / count + (extent % count != 0 ? 1 : 0), 1);
  std::vector<std::int64_t> sizes;
  std::int64_t left = extent;
  do {
    sizes.push_back(std::min(size, left));
    left -= sizes.back();
  } while (left != 0);
  return sizes;
}

std::vector<std::int64_t> sizes_of_out(const Array& array, std::size_t dim, const Targets& targets,
                                       const ScatterOptions& options) {
  if (!options.chunk_sizes.empty()) {
    refuse(scatter_operation, array.place().to_string(),
           "chunk_sizes are given together with `out`\nthe shapes of `out` say the sizes");
  }
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < targets.out.size(); ++i) {
    const std::string name = fmt::format("`out` array {}", i);
    require_on_device(targets.out[i], name, scatter_operation);
    require_same_dtype(targets.out[i], array.dtype(), name, scatter_operation);
    require_same_but(targets.out[i], array.shape(), dim, name, scatter_operation);
    sizes.push_back(targets.out[i].shape()[dim]);
  }
  require_sum(sizes, array, dim, "the extents of `out`");
  return sizes;
}

std::vector<Device> devices_of(const Targets& targets) {
  std::vector<Device> devices = targets.devices;
  for (const Array& array : targets.out) devices.push_back(array.device());
  return devices;
}

/// Gives one stream for each device.
std::vector<StreamView> streams_of(const std::vector<Device>& devices, const std::vector<StreamView>& given) {
  if (!given.empty() && given.size() != devices.size()) {
    refuse(
        scatter_operation, {},
        fmt::format("there are {} streams and {} devices\ngive one for each, or none", given.size(), devices.size()));
  }
  std::vector<StreamView> streams;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool is_given = !given.empty() && given[i];
    streams.push_back(is_given ? given[i] : current_stream(devices[i]));
    if (streams.back().device() == devices[i]) continue;
    refuse(scatter_operation, devices[i].to_string(),
           fmt::format("stream {} is of {}, and device {} is {}", i, streams.back().device().to_string(), i,
                       devices[i].to_string()));
  }
  return streams;
}

}  // namespace

std::vector<Array> scatter(const Array& array, const Targets& targets, const ScatterOptions& options) {
  constexpr const char* operation = scatter_operation;
  enter(operation);
  require_one_target(targets, operation);
  require_array(array, "the array", operation);
  const std::size_t dim = require_dim(array, options.dim, operation);
  const bool into = !targets.out.empty();
  const std::vector<std::int64_t> sizes =
      into ? sizes_of_out(array, dim, targets, options) : sizes_of_pieces(array, dim, targets, options);
  const std::vector<Device> devices = devices_of(targets);
  const std::vector<StreamView> streams = streams_of(devices, options.streams);
  require_apart(targets.out, {array}, operation);

  const auto at = static_cast<std::int64_t>(dim);
  std::vector<Array> pieces;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    pieces.push_back(array.slice(at, begin, begin + size));
    begin += size;
  }
  const StreamView source = current_stream_of_array(array);
  std::vector<StreamView> all = streams;
  all.push_back(source);
  const Joined joined(all);
  std::vector<Array> results = targets.out;
  for (std::size_t i = results.size(); i < pieces.size(); ++i) {
    const bool is_there = is_on(array, devices[i]);
    results.push_back(is_there ? pieces[i] : Array(streams[i], array.dtype(), pieces[i].shape()));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!into && is_on(array, devices[i])) continue;
    transfer_to({results[i], streams[i]}, {pieces[i], source});
  }
  joined.finish();
  return results;
}

}  // namespace anyplace::comm
