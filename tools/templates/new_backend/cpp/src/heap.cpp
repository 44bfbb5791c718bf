// SPDX-License-Identifier: Apache-2.0
#include "heap.h"

#include <anyplace/backend/device_backend.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace newname_backend {

using anyplace::backend::Failure;
using anyplace::backend::from_handle;
using anyplace::backend::to_handle;

anyplace_address Heap::allocate(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > total_ - used_) {
    throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY, std::to_string(bytes) + " bytes are wanted, " +
                                                     std::to_string(total_ - used_) + " of " + std::to_string(total_) +
                                                     " are free");
  }
  const std::uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(alignment, rounded), &std::free);
  if (memory == nullptr) throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY, "the host has no more memory");
  sizes_.emplace(to_handle(memory.get()), bytes);
  used_ += bytes;
  return to_handle(memory.release());
}

void Heap::free(anyplace_address address) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(address);
    if (found == sizes_.end()) {
      throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT, "no allocation starts at address " + std::to_string(address));
    }
    used_ -= found->second;
    sizes_.erase(found);
  }
  std::free(from_handle<void>(address));
}

std::uint64_t Heap::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return total_ - used_;
}

}  // namespace newname_backend
