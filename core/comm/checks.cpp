// SPDX-License-Identifier: Apache-2.0
#include "comm/checks.h"

#include <fmt/format.h>

#include <utility>

#include "arrays/copy_plan.h"
#include "runtime/call.h"

namespace anyplace::detail {

void refuse(const char* operation, const std::string& place, std::string text) {
  fail(ErrorCode::invalid_argument, place, operation, std::move(text));
}

void require_one_target(const comm::Targets& targets, const char* operation) {
  if (targets.devices.empty() == targets.out.empty()) {
    refuse(operation, {},
           (targets.out.empty() ? std::string("neither `devices` nor `out` has anything")
                                : fmt::format("both `devices`, which has {}, and `out`, which has {}, are given",
                                              targets.devices.size(), targets.out.size())) +
               "\ngive exactly one of them: the devices to make arrays on, or the arrays to write");
  }
  for (const Device& device : targets.devices) require_usable(device, operation);
}

void require_usable(const Device& device, const char* operation) { require_usable(*device.state(), operation); }

void require_array(const ArrayView& array, const std::string& name, const char* operation) {
  if (!array) refuse(operation, {}, name + " is a null array\nmake one of memory");
  const ArrayPlace place = array.place();
  if (!place.is_host()) require_usable(place.device(), operation);
  try {
    static_cast<void>(array.address());  // throws if the buffer is gone
  } catch (const Error& error) {
    throw renamed(error, operation);
  }
}

void require_on_device(const ArrayView& array, const std::string& name, const char* operation) {
  require_array(array, name, operation);
  if (!array.is_on_host()) return;
  refuse(operation, "host", name + " is of the host, where one of a device is needed\ncopy it to a device before");
}

void require_same_dtype(const ArrayView& array, DType dtype, const std::string& name, const char* operation) {
  if (array.dtype() == dtype) return;
  refuse(operation, array.place().to_string(),
         fmt::format("{} has elements of {}, and those of the others are {}\nall have one type", name,
                     to_string(array.dtype()), to_string(dtype)));
}

void require_same_shape(const ArrayView& array, const Extents& shape, const std::string& name, const char* operation) {
  if (array.shape() == shape) return;
  refuse(operation, array.place().to_string(),
         fmt::format("{} has the shape {}, and {} is expected", name, array.shape().to_string(), shape.to_string()));
}

void require_same_but(const ArrayView& array, const Extents& shape, std::size_t dim, const std::string& name,
                      const char* operation) {
  bool same = array.ndim() == shape.size();
  for (std::size_t i = 0; same && i < shape.size(); ++i) same = i == dim || array.shape()[i] == shape[i];
  if (same) return;
  refuse(operation, array.place().to_string(),
         fmt::format("{} has the shape {}, and {} is expected, but for the extent of dimension {}", name,
                     array.shape().to_string(), shape.to_string(), dim));
}

std::size_t require_dim(const ArrayView& array, std::int64_t dim, const char* operation) {
  const auto count = static_cast<std::int64_t>(array.ndim());
  if (dim >= -count && dim < count) return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
  refuse(operation, array.place().to_string(),
         fmt::format("there is no dimension {} in the shape {}", dim, array.shape().to_string()) +
             (count == 0 ? "\nreshape it to one dimension before"
                         : fmt::format("\ndimensions go from {} to {}", -count, count - 1)));
}

namespace {

bool share_memory(const ArrayView& a, const ArrayView& b) {
  if (a.size() == 0 || b.size() == 0 || a.place() != b.place()) return false;
  const std::uint64_t first = a.range_begin().value(), second = b.range_begin().value();
  return first < second ? second - first < a.range_bytes() : first - second < b.range_bytes();
}

}  // namespace

void require_apart(const std::vector<Array>& out, const std::vector<Array>& in, const char* operation) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string place = out[i].place().to_string();
    if (out[i].is_read_only()) refuse(operation, place, fmt::format("`out` array {} is read-only", i));
    if (out[i].size() != 0 && CopyPlan(out[i], out[i]).writes_twice()) {
      refuse(
          operation, place,
          fmt::format("elements of `out` array {} share memory: it has the shape {} and the strides {}\neach element "
                      "that is written has memory of its own",
                      i, out[i].shape().to_string(), out[i].strides().to_string()));
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (!share_memory(out[i], out[k])) continue;
      refuse(operation, place,
             fmt::format("`out` arrays {} and {} share memory\neach result has memory of its own", k, i));
    }
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (!share_memory(out[i], in[k])) continue;
      refuse(operation, place,
             fmt::format("`out` array {} shares memory with input {}\neach result has memory of its own", i, k));
    }
  }
}

Device require_destination(const std::vector<Array>& inputs, const std::optional<Device>& given,
                           const char* operation) {
  const Device destination = given ? *given : current_device(inputs.front().device().backend());
  require_usable(destination, operation);
  for (const Array& input : inputs) {
    if (is_on(input, destination)) return destination;
  }
  refuse(operation, destination.to_string(),
         fmt::format("the destination is {}, and none of the {} inputs is there\nthe destination is the device of one "
                     "of the inputs",
                     destination.to_string(), inputs.size()));
}

bool is_on(const ArrayView& array, const Device& device) {
  return !array.is_on_host() && array.place() == ArrayPlace(device);
}

}  // namespace anyplace::detail
