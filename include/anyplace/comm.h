// SPDX-License-Identifier: Apache-2.0
//
// Collectives within one process: arrays of several devices, copied to all of them, added, cut in pieces and put
// together again. The devices may be of different backends.
//
//   const auto copies = anyplace::comm::broadcast(weights, {.devices = {d0, d1, d2}});
//   const auto parts = anyplace::comm::scatter(batch, {.devices = {d0, d1, d2}});
//   const Array sum = anyplace::comm::reduce_add(gradients, d0);
//   const Array all = anyplace::comm::gather(parts, 0, {.destination = d0});
//
// The functions and their rules are those of torch.cuda.comm (torch/nn/parallel/comm.py).
//
// Everything is submitted to the calling thread's current streams, one of each device, behind their earlier work;
// events hold back work that has to wait for another device. A result is ready in the order of its device's stream,
// which is its Array::stream(), and an input may be written again or freed in the order of the current stream of its
// device. The host waits only where Stream::copy or Stream::wait_event do, and for reduce_add on a device that has
// neither kernels for it nor host functions. If the streams are captured, the capture has all of it.
//
// A bad argument throws invalid_argument, which names the argument by its number, before anything is submitted. Every
// function can throw device_lost, out_of_memory, forked, shut_down and not_permitted (in a host function or kernel) as
// well. All may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "array.h"
#include "device.h"
#include "export.h"
#include "stream.h"

namespace anyplace::comm {

/// Bytes of small arrays that the _coalesced functions move together; the value is torch's default.
inline constexpr std::uint64_t default_buffer_size = 10485760;

/// Where results go: to new arrays on `devices`, or into the arrays `out`. Exactly one of them is given; an empty list
/// counts as not given.
struct Targets {
  std::vector<Device> devices = {};  ///< devices for new arrays, one for each result
  std::vector<Array> out = {};       ///< arrays that results are written into, one for each result
};

/// Copies `array` to each device, or into each of `out`, and returns those. An array of a device has to be on the first
/// of `devices`, and is itself the first result; one of the host is copied to all. Arrays of `out` are of devices,
/// have the array's type and shape, and share no memory with it or each other.
ANYPLACE_API std::vector<Array> broadcast(const Array& array, const Targets& targets);

/// Broadcasts several arrays, which are all on the first of `devices`. Small ones of one type go together through
/// buffers of at most `buffer_size` bytes. Returns for each device a list like `arrays`: the first one is `arrays`
/// itself; the arrays of another may share one allocation.
ANYPLACE_API std::vector<std::vector<Array>> broadcast_coalesced(const std::vector<Array>& arrays,
                                                                 const std::vector<Device>& devices,
                                                                 std::uint64_t buffer_size = default_buffer_size);

/// The sum of all inputs, element by element, on `destination`, where one of them has to be; without it, on the current
/// device of the first input's backend. The inputs are of devices, of one type and shape. The sum is contiguous and
/// new, but for a single input, which is returned itself.
///
/// Elements are added in the order of the inputs, the same on every backend. Integers wrap around, and the sum of bool
/// is its or. f16 and bf16 are added as f32 and rounded at the end; of more than eight inputs, also after the eighth
/// and then after every seventh.
ANYPLACE_API Array reduce_add(const std::vector<Array>& inputs, const std::optional<Device>& destination = {});

/// reduce_add for several arrays: `inputs` has a list for each device, all of the same length, and the result is the
/// list of the sums. Small arrays are added together, by way of buffers of at most `buffer_size` bytes.
ANYPLACE_API std::vector<Array> reduce_add_coalesced(const std::vector<std::vector<Array>>& inputs,
                                                     const std::optional<Device>& destination = {},
                                                     std::uint64_t buffer_size = default_buffer_size);

/// How an array is cut.
struct ScatterOptions {
  /// The extents of the pieces along `dim`, one for each device; their sum is the array's extent. Empty asks for pieces
  /// of equal size, of which the last ones may be smaller or missing. Can't be given with `out`, whose shapes say it.
  std::vector<std::int64_t> chunk_sizes = {};
  /// The dimension that is cut; a negative one counts from the end.
  std::int64_t dim = 0;
  /// The streams that make the pieces and copy to them: one for each device, or none at all. A null one stands for the
  /// device's current stream.
  std::vector<StreamView> streams = {};
};

/// Cuts `array`, which is of a device or the host, into pieces along a dimension, and copies them to the devices, or
/// into `out`. A piece for the device that the array is on is a view of it. Without chunk_sizes there may be fewer
/// pieces than devices.
ANYPLACE_API std::vector<Array> scatter(const Array& array, const Targets& targets, const ScatterOptions& options = {});

/// Where gather's result goes: to a new array on `destination`, which may be the host, or into `out`, which may be of
/// the host, too; if neither is given, to the current device of the first array's backend.
struct GatherTarget {
  std::optional<ArrayPlace> destination = {};  ///< where the new array is made
  std::optional<Array> out = {};               ///< the array that is written, of the type and shape of the result
};

/// Puts arrays of devices together along a dimension; their other extents are the same. A result on the host is written
/// in the order of its stream(), which is of the first array's device.
ANYPLACE_API Array gather(const std::vector<Array>& arrays, std::int64_t dim = 0, const GatherTarget& target = {});

}  // namespace anyplace::comm
