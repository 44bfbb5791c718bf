// SPDX-License-Identifier: Apache-2.0
//
// The common path of Kernel::launch, inlined into the entry, so that as few instructions as possible are between the
// core and cuLaunchKernel. Rare cases are in kernel.cpp.
#pragma once

#include <cstddef>
#include <cstring>

#include "kernel.h"
#include "stream.h"

namespace anyplace::cuda {

static_assert(offsetof(anyplace_launch, argument_stride) == offsetof(anyplace_launch, argument_count) + 4);

[[gnu::always_inline]] inline CUresult Kernel::call(const Stream& stream, const anyplace_launch& launch,
                                                    void** arguments) const {
  return driver().LaunchKernel(function_, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
                               launch.block[1], launch.block[2], static_cast<unsigned>(launch.shared_bytes),
                               stream.native(), arguments, nullptr);
}

[[gnu::always_inline]] inline void Kernel::launch(const Stream& stream, const anyplace_launch& launch) {
  void* pointers[max_arguments];
  std::uint64_t form = 0;
  std::memcpy(&form, reinterpret_cast<const char*>(&launch) + offsetof(anyplace_launch, argument_count), sizeof(form));
  if (form != known_form_) [[unlikely]]
    return launch_carefully(stream, launch);
  const anyplace_argument* argument = launch.arguments;
  const std::size_t count = launch.argument_count;
  const std::uint32_t* const sizes = parameter_sizes_.data();
#pragma GCC unroll 1
  for (std::size_t i = 0; i < count; ++i, ++argument) {
    if (argument->size != sizes[i]) [[unlikely]]
      return launch_carefully(stream, launch);
    pointers[i] = const_cast<void*>(argument->value);
  }
  if (launch.shared_bytes > shared_limit_.load(std::memory_order_relaxed) || stream.launches_in_context()) [[unlikely]]
    return launch_carefully(stream, launch);
  const CUresult result = call(stream, launch, pointers);
  if (result != CUDA_SUCCESS) [[unlikely]]
    launch_again(result, stream, launch);
}

}  // namespace anyplace::cuda
