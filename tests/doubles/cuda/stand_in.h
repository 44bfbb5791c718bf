// SPDX-License-Identifier: Apache-2.0
//
// The stand-in formats (README.md): PTX, cubins and fatbins that hold an image for the host, so that the double can run
// the kernels. Made by make_stand_in, read by the double; needs nothing of CUDA. What is read may be damaged: every
// reader checks and says what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::doubles::cuda {

/// What a comment line of PTX begins with whose rest is a part of the host image in base 64.
constexpr std::string_view host_image_line = "// anyplace-host-image: ";

constexpr uint16_t cuda_machine = 190;  // EM_CUDA
constexpr uint32_t fatbin_magic = 0xBA55ED50U;
constexpr uint32_t fatbin_wrapper_magic = 0x466243B1U;

/// `ptx`, or a PTX without kernels if it is empty, followed by the host image as comments.
std::string make_ptx(std::string_view ptx, std::string_view host_image);
/// The host image marked as one for the device architecture `sm`, such as 90. nullopt if it is no 64-bit ELF file.
std::optional<std::string> make_cubin(std::string_view host_image, unsigned sm);

struct FatbinEntry {
  bool ptx = false;
  unsigned sm = 0;
  std::string image;
};
std::string make_fatbin(const std::vector<FatbinEntry>& entries);

/// The directives at the head of a PTX text.
struct PtxHead {
  unsigned version_major = 0;
  unsigned version_minor = 0;
  unsigned target_sm = 0;
};
/// nullopt if there is no .version or no .target sm_NN; `why` then says which.
std::optional<PtxHead> read_ptx_head(std::string_view ptx, std::string& why);
/// The names behind the .entry directives of a PTX: the kernels that a device would find. None for a text that is made
/// for the double alone.
std::vector<std::string> read_ptx_entries(std::string_view ptx);
/// The host image in the comments of a PTX. nullopt, with `why`, if there is none or it is damaged.
std::optional<std::string> read_ptx_host_image(std::string_view ptx, std::string& why);

/// The architecture that a cubin, of ours or of NVIDIA's, is for; 0 if it doesn't say.
unsigned cubin_sm(const void* image) noexcept;

/// The entries of a fatbin at `image`, which begins with its magic number. nullopt, with `why`, if it is damaged.
std::optional<std::vector<FatbinEntry>> read_fatbin(const void* image, std::string& why);

}  // namespace anyplace::doubles::cuda
