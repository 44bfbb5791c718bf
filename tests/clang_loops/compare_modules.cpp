// SPDX-License-Identifier: Apache-2.0
//
// Runs the kernels of two modules, one with loops and one with stacks, in blocks of many shapes, and compares what they
// write. It calls the functions that a module exports, so it needs nothing of anyplace but abi.h, and is compiled in
// seconds with any sanitizer: tests/clang_loops/compare does that.
//
//   compare_modules LOOPS.so STACKS.so KERNEL...
#include <anyplace/backend/abi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Shape {
  std::uint32_t x, y, z;
  std::uint32_t threads() const { return x * y * z; }
};
constexpr Shape shapes[] = {{1, 1, 1}, {17, 1, 1}, {256, 1, 1}, {16, 16, 1}, {5, 3, 2}, {1, 64, 1}, {1024, 1, 1}};
constexpr std::uint32_t blocks = 3;

/// _row_of_NAME (docs/cpu_sim.md).
using Row = anyplace_status (*)(void*, const anyplace_block*, std::uint32_t*, void* const*, const std::uint32_t*,
                                std::uint32_t);

/// A module stays loaded until the process ends.
class Module {
 public:
  explicit Module(const char* file) : handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(::dlerror());
  }

  /// Whether the kernel takes `unsigned* to, const unsigned* from, unsigned count`.
  bool takes_three(const std::string& kernel) const {
    return *static_cast<const std::uint32_t*>(symbol(kernel + "_parameters")) == 3;
  }
  /// Whether blocks may run as one.
  bool has_row(const std::string& kernel) const { return ::dlsym(handle_, ("_row_of_" + kernel).c_str()) != nullptr; }
  /// What the kernel writes. At most `most` blocks run as one, if it has a function for that.
  std::vector<std::uint32_t> run(const std::string& kernel, Shape shape, const std::vector<std::uint32_t>& from,
                                 std::uint32_t most = 0) const {
    const auto function = reinterpret_cast<anyplace_host_kernel>(symbol(kernel));
    const auto row = reinterpret_cast<Row>(most == 0 ? nullptr : symbol("_row_of_" + kernel));
    std::vector<std::uint32_t> to(blocks * shape.threads(), 0xadadadadu);
    std::uint32_t* const to_address = to.data();
    const std::uint32_t* const from_address = from.data();
    const std::uint32_t count = 2 * shape.threads() + shape.threads() / 2 + 1;
    const void* const arguments[] = {&to_address, &from_address, &count};
    const std::uint32_t sizes[] = {sizeof(to_address), sizeof(from_address), sizeof(count)};
    for (std::uint32_t index = 0, at_once = 1; index < blocks; index += at_once) {
      alignas(64) unsigned char shared[64];
      anyplace_block block{};
      block.struct_size = sizeof(block);
      block.grid[0] = blocks;
      block.grid[1] = block.grid[2] = 1;
      block.block[0] = shape.x;
      block.block[1] = shape.y;
      block.block[2] = shape.z;
      block.index[0] = index;
      block.shared = shared;
      block.shared_bytes = sizeof(shared);
      if (row != nullptr) at_once = std::min(most, blocks - index);
      void* const* const given = const_cast<void* const*>(arguments);
      const anyplace_status status =
          row != nullptr ? row(nullptr, &block, &at_once, given, sizes, 3) : function(nullptr, &block, given, sizes, 3);
      if (status != ANYPLACE_STATUS_OK) throw std::runtime_error(kernel + " ends with " + std::to_string(status));
    }
    return to;
  }

 private:
  void* symbol(const std::string& name) const {
    void* const found = ::dlsym(handle_, name.c_str());
    if (found == nullptr) throw std::runtime_error(::dlerror());
    return found;
  }

  void* handle_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) throw std::invalid_argument("compare_modules LOOPS.so STACKS.so KERNEL...");
  const Module loops(argv[1]), stacks(argv[2]);
  std::vector<std::uint32_t> from(4096);
  for (std::uint32_t i = 0; i < from.size(); ++i) from[i] = (i * 2654435761u + 12345) >> 13;
  int compared = 0, different = 0;
  for (int i = 3; i < argc; ++i) {
    const std::string kernel = argv[i];
    if (!loops.takes_three(kernel)) continue;
    for (const Shape& shape : shapes) {
      ++compared;
      const std::vector<std::uint32_t> expected = stacks.run(kernel, shape, from);
      const bool same_in_rows = !loops.has_row(kernel) || (loops.run(kernel, shape, from, 2) == expected &&
                                                           loops.run(kernel, shape, from, blocks) == expected);
      if (same_in_rows && loops.run(kernel, shape, from) == expected) continue;
      ++different;
      std::printf("%s in blocks of %u x %u x %u differs\n", kernel.c_str(), shape.x, shape.y, shape.z);
    }
  }
  std::printf("%d compared, %d different\n", compared, different);
  return compared > 0 && different == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "compare_modules: %s\n", error.what());
  return 1;
}
