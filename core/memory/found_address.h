// SPDX-License-Identifier: Apache-2.0
// FoundAddress: what is known of an address by address_book.h and the books that it asks.
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
