// SPDX-License-Identifier: Apache-2.0
//
// The stand-in formats (README.md): AMD code objects and bundles of them that hold an image for the host, so that the
// double can run the kernels. Made by make_stand_in, read by the double; needs nothing of HIP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::doubles::hip {

constexpr uint16_t amd_machine = 224;  // EM_AMDGPU
constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";

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

/// Of a code object: what LLVM calls EF_AMDGPU_MACH.
uint32_t machine_of_code_object(const void* image) noexcept;
/// The entries of a bundle at `image`, which begins with its magic.
std::vector<BundleEntry> read_bundle(const void* image);

}  // namespace anyplace::doubles::hip
