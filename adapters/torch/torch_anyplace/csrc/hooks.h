// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Storage.h>

namespace anyplace_torch {

/// Gives the storage memory of that many bytes, with what it held and fits. On the current stream of its device.
void resize_storage(const c10::Storage& storage, std::size_t bytes);

}  // namespace anyplace_torch
