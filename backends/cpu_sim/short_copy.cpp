// SPDX-License-Identifier: Apache-2.0
#include "short_copy.h"

#include <anyplace/backend/device_backend.h>

#include <algorithm>
#include <cstring>

namespace anyplace::cpu_sim {
namespace {

template <class T>
void fill(anyplace_address address, std::uint32_t value, std::uint64_t count) noexcept {
  std::fill_n(backend::from_handle<T>(address), count, static_cast<T>(value));
}

}  // namespace

void run_copy(anyplace_address destination, anyplace_address source, std::uint64_t bytes) noexcept {
  std::memcpy(backend::from_handle<void>(destination), backend::from_handle<const void>(source), bytes);
}

void run_fill(anyplace_address address, std::uint32_t value, std::uint64_t width, std::uint64_t count) noexcept {
  switch (width) {
    case 1:
      return fill<std::uint8_t>(address, value, count);
    case 2:
      return fill<std::uint16_t>(address, value, count);
    default:
      return fill<std::uint32_t>(address, value, count);
  }
}

}  // namespace anyplace::cpu_sim
