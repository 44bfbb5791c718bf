// SPDX-License-Identifier: Apache-2.0
//
// ShiftedMemory: for a layer (layer.h) whose device memory is aligned to a power of two, and to no more: more of the
// backend's memory than was asked for, of which the part is given out that begins at an odd multiple of the alignment.
#pragma once

#include <map>
#include <mutex>

#include "support/layer.h"

namespace test {

class ShiftedMemory {
 public:
  anyplace_status allocate(const Layer& layer, std::int32_t device, std::uint64_t bytes, std::uint64_t alignment,
                           anyplace_address* out) {
    anyplace_address base = 0;
    const anyplace_status status = layer.pass_on<&Table::memory_allocate>(device, std::uint32_t{ANYPLACE_MEMORY_DEVICE},
                                                                          bytes + 3 * alignment, &base);
    if (status != ANYPLACE_STATUS_OK) return status;
    *out = (base + 2 * alignment - 1) / (2 * alignment) * (2 * alignment) + alignment;
    const std::lock_guard lock(mutex_);
    bases_[*out] = base;
    return status;
  }
  /// The backend's address of what is freed, also of memory that allocate() hasn't made.
  anyplace_address take_base(anyplace_address address) {
    const std::lock_guard lock(mutex_);
    const auto found = bases_.find(address);
    if (found == bases_.end()) return address;
    const anyplace_address base = found->second;
    bases_.erase(found);
    return base;
  }

 private:
  std::mutex mutex_;
  std::map<anyplace_address, anyplace_address> bases_;  // guarded by mutex_
};

}  // namespace test
