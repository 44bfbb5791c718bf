// SPDX-License-Identifier: Apache-2.0
// Arrays of numbers on devices, and what is in them.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace comm_test {

using anyplace::Array;
using anyplace::ArrayPlace;
using anyplace::ArrayView;
using anyplace::Device;
using anyplace::DType;
using anyplace::ErrorCode;
using anyplace::Extents;
using anyplace::Stream;
using anyplace::StreamView;

using Ints = std::vector<std::int32_t>;

template <class T>
ArrayView host_view(std::vector<T>& values, const Extents& shape) {
  return ArrayView::on_host(values, anyplace::dtype_of<T>, shape);
}

/// On the device's current stream, and there when this returns.
template <class T>
Array upload(const Device& device, std::vector<T> values, const Extents& shape) {
  const Array array(device, anyplace::dtype_of<T>, shape);
  anyplace::copy(array.stream(), array, host_view(values, shape));
  array.stream().synchronize();
  return array;
}
template <class T>
Array upload(const Device& device, std::vector<T> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return upload(device, std::move(values), {count});
}

/// In the order of the array's stream.
template <class T = std::int32_t>
std::vector<T> read(const Array& array) {
  std::vector<T> values(static_cast<std::size_t>(array.size()));
  anyplace::copy(array.stream(), host_view(values, array.shape()), array);
  array.stream().synchronize();
  return values;
}

/// `first`, `first` + 1, ...
inline Ints counted(std::int64_t count, std::int32_t first = 0) {
  Ints values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<std::int32_t>(i));
  return values;
}

inline std::vector<Device> devices(int count) {
  std::vector<Device> all;
  for (int i = 0; i < count; ++i) all.emplace_back("cpu_sim:" + std::to_string(i));
  return all;
}

}  // namespace comm_test
