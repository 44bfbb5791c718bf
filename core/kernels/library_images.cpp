// SPDX-License-Identifier: Apache-2.0
#include "anyplace/library_images.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "anyplace_random_kernels.h"
#include "anyplace_sum_kernels.h"

namespace anyplace {
namespace {

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::uint64_t entry_limit = 256;  // code objects of a bundle that are looked at

/// Reads a bundle from its beginning; every read is checked.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool number(std::uint64_t& value) {
    if (rest_.size() < sizeof(value)) return false;
    std::memcpy(&value, rest_.data(), sizeof(value));
    rest_.remove_prefix(sizeof(value));
    return true;
  }
  bool text(std::uint64_t length, std::string_view& value) {
    if (rest_.size() < length) return false;
    value = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::vector<const KernelImages*> library_kernels() { return {&anyplace_random_kernels, &anyplace_sum_kernels}; }

std::vector<std::string> architectures_of(const KernelImage& image) {
  if (!image.architecture.empty()) return {std::string(image.architecture)};
  const std::string_view bytes(static_cast<const char*>(image.data), image.size);
  if (!bytes.starts_with(bundle_magic)) return {};
  // Clang's "Offload Bundler": the number of entries, and of each where it is, its size, and a target such as
  // hipv4-amdgcn-amd-amdhsa--gfx90a. That of the host has no architecture.
  Reader reader(bytes.substr(bundle_magic.size()));
  std::vector<std::string> architectures;
  std::uint64_t count = 0;
  if (!reader.number(count)) return architectures;
  for (std::uint64_t i = 0; i < count && i < entry_limit; ++i) {
    std::uint64_t offset = 0, size = 0, length = 0;
    std::string_view target;
    if (!reader.number(offset) || !reader.number(size) || !reader.number(length) || !reader.text(length, target)) break;
    const std::size_t at = target.rfind("--");
    if (at != std::string_view::npos && at + 2 < target.size()) architectures.emplace_back(target.substr(at + 2));
  }
  return architectures;
}

}  // namespace anyplace
