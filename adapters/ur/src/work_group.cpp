// SPDX-License-Identifier: Apache-2.0
#include "work_group.h"

#include <algorithm>

namespace anyplace_ur {

namespace {

constexpr std::size_t usual_threads = 256;

std::size_t largest_divisor(std::size_t number, std::size_t most) {
  for (std::size_t divisor = std::min(number, most); divisor > 1; --divisor) {
    if (number % divisor == 0) return divisor;
  }
  return 1;
}

}  // namespace

WorkSize work_size(std::uint32_t dimensions, const std::size_t* numbers) {
  require(dimensions >= 1 && dimensions <= 3, UR_RESULT_ERROR_INVALID_WORK_DIMENSION,
          "work has one, two or three dimensions");
  require_pointer(numbers);
  WorkSize size{1, 1, 1};
  std::copy(numbers, numbers + dimensions, size.begin());
  return size;
}

WorkSize suggested_local(const ur_device_handle_t_& device, const WorkSize& global) {
  WorkSize local{1, 1, 1};
  std::size_t left = std::min<std::size_t>(device.properties.max_threads_per_block, usual_threads);
  for (std::size_t i = 0; i < local.size(); ++i) {
    local[i] = largest_divisor(global[i], std::min<std::size_t>(left, device.properties.max_block[i]));
    left /= local[i];
  }
  return local;
}

}  // namespace anyplace_ur
