// SPDX-License-Identifier: Apache-2.0
// FoundAddress: what address_book.h, and those that it asks, know of an address.
#pragma once

#include <cstdint>

#include "anyplace/address.h"
#include "runtime/backend.h"

namespace anyplace::detail {

struct FoundAddress {
  AddressKind kind = AddressKind::unknown;
  DeviceState* device = nullptr;
  anyplace_address allocation = 0;
  std::uint64_t bytes = 0;
};

}  // namespace anyplace::detail
