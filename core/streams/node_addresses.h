// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "streams/capture.h"

namespace anyplace::detail {

/// The addresses that the nodes from number `first` on name, those of a kernel's arguments included. A child graph's
/// aren't among them: it holds its own buffers. Throws bad_alloc.
std::vector<anyplace_address> addresses_of(const NodeList& list, std::size_t first);

}  // namespace anyplace::detail
