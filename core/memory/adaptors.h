// SPDX-License-Identifier: Apache-2.0
//
// Shared code of the allocators that sit on another one (limit, logging, failing, tracking).
#pragma once

#include <memory>

#include "anyplace/allocator.h"

namespace anyplace::detail {

/// Returns `upstream`; throws invalid_argument if it is null.
std::shared_ptr<Allocator> required(std::shared_ptr<Allocator> upstream, const char* operation);

}  // namespace anyplace::detail
