// SPDX-License-Identifier: Apache-2.0
//
// What threads of a block keep across barriers when they run as loops (docs/barriers.md), linked into every module
// whose kernels compilers/clang_loops compiles. A block has one piece of memory, which goes back when it ends. It is no
// thread_local object with a destructor: that would keep the module loaded until its threads end.
#include <anyplace/device_code/host_block.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace anyplace::device_code {

constinit thread_local void* loops_scratch = nullptr;

}  // namespace anyplace::device_code

extern "C" void* anyplace_loops_scratch(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  anyplace::device_code::loops_scratch = memory;
  return memory;
}
