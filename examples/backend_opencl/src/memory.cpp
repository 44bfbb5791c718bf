// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <cstdlib>

namespace opencl_backend {
namespace {

using anyplace::backend::from_handle;
using anyplace::backend::to_handle;

constexpr std::uint64_t page = 4096;

[[noreturn]] void out_of_memory(const std::string& why) { refuse(ANYPLACE_STATUS_OUT_OF_MEMORY, why); }

}  // namespace

anyplace_address Memory::allocate(const Context& context, bool managed, std::uint64_t bytes) {
  if (bytes > largest_ - address_alignment) {
    out_of_memory(std::to_string(bytes) + " bytes in one piece; the driver's limit is " +
                  std::to_string(largest_ - address_alignment) + " (CL_DEVICE_MAX_MEM_ALLOC_SIZE)");
  }
  const std::lock_guard lock(mutex_);
  if (bytes > total_ - in_use_) {
    out_of_memory(std::to_string(bytes) + " bytes; of the device's " + std::to_string(total_) + ", " +
                  std::to_string(in_use_) + " are in use");
  }
  const cl_svm_mem_flags flags = CL_MEM_READ_WRITE | (managed ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
  void* const base = api().SVMAlloc(context.get(), flags, bytes + address_alignment, 0);
  if (base == nullptr) out_of_memory("clSVMAlloc has no " + std::to_string(bytes) + " bytes");
  const anyplace_address address = (to_handle(base) + address_alignment - 1) / address_alignment * address_alignment;
  try {
    blocks_.emplace(address, Block{base, bytes});
  } catch (...) {
    api().SVMFree(context.get(), base);
    throw;
  }
  in_use_ += bytes;
  return address;
}

void Memory::free(const Context& context, anyplace_address address) {
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the address is not that of an allocation");
    block = found->second;
    blocks_.erase(found);
    in_use_ -= block.bytes;
  }
  api().SVMFree(context.get(), block.base);
}

bool Memory::is_empty() {
  const std::lock_guard lock(mutex_);
  return blocks_.empty();
}

anyplace_address allocate_host(std::uint64_t bytes) {
  void* const memory = bytes > UINT64_MAX - page ? nullptr : std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (memory == nullptr) out_of_memory(std::to_string(bytes) + " bytes; the host has no more");
  return to_handle(memory);
}

void free_host(anyplace_address address) noexcept { std::free(from_handle<void>(address)); }

}  // namespace opencl_backend
