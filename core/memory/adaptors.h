// SPDX-License-Identifier: Apache-2.0
//
// What the allocators that sit on another one (limit, logging, failing, tracking) have in common.
#pragma once

#include <memory>

#include "anyplace/allocator.h"

namespace anyplace::detail {

/// Throws invalid_argument for null.
std::shared_ptr<Allocator> required(std::shared_ptr<Allocator> upstream, const char* operation);

}  // namespace anyplace::detail
