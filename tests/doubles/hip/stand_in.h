// SPDX-License-Identifier: Apache-2.0
//
// The stand-in formats (README.md): AMD code objects and bundles of them that hold an image for the host, so that the
// double can run the kernels. Made by make_stand_in, read by the double; needs nothing of HIP.
#ifndef ANYPLACE_TESTS_DOUBLES_HIP_STAND_IN_H
#define ANYPLACE_TESTS_DOUBLES_HIP_STAND_IN_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::doubles::hip {

constexpr uint16_t kAmdMachine = 224;  // EM_AMDGPU
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";

/// What LLVM writes into e_flags for the architecture, such as "gfx90a"; 0 for one that isn't known here.
uint32_t machine_of(std::string_view arch) noexcept;

/// The host image marked as a code object for the architecture. nullopt if it is no 64-bit ELF file, or the
/// architecture isn't known.
std::optional<std::string> make_code_object(std::string_view host_image, std::string_view arch);

struct BundleEntry {
  std::string id;  // "hipv4-amdgcn-amd-amdhsa--gfx90a"
  std::string image;
};
/// As clang-offload-bundler lays them out, behind an empty entry for the host.
std::string make_bundle(const std::vector<std::pair<std::string, std::string>>& images_by_arch);

/// Whether the bytes begin like a code object; at least 64 of them are there.
bool is_code_object(const void* image) noexcept;
/// The length of the ELF file at `image`, by its own tables.
uint64_t elf_bytes(const void* image) noexcept;
/// Of a code object: what LLVM calls EF_AMDGPU_MACH.
uint32_t machine_of_code_object(const void* image) noexcept;
/// The host image of a code object; nullopt if it is not a stand-in.
std::optional<std::string> read_host_image(std::string_view code_object);
/// The entries of a bundle at `image`, which begins with its magic.
std::vector<BundleEntry> read_bundle(const void* image);

}  // namespace anyplace::doubles::hip

#endif  // ANYPLACE_TESTS_DOUBLES_HIP_STAND_IN_H
