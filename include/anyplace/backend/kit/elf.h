// SPDX-License-Identifier: Apache-2.0
//
// Checks of the bounds of an image before a driver or a linker sees it. Drivers and linkers get no size, trust the
// image's headers, and would read past the end of one that was cut off. ImageBytes reads within the bounds at any
// alignment. gpu_elf_problem() checks the ELF files that GPUs' compilers make. own_elf and elf_machine_name() are for
// shared objects, which must be made for the machine that this was compiled for. All are thread-safe and run nothing of
// the image.
#pragma once

#include <elf.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace anyplace::backend {

/// The e_machine, e_ident[EI_CLASS] and e_ident[EI_DATA] of an ELF file for this process.
struct ElfKind {
  unsigned machine;     ///< EM_*
  unsigned char bits;   ///< ELFCLASS*
  unsigned char order;  ///< ELFDATA2*
};

/// What files for this process have.
constexpr ElfKind own_elf = {
#if defined(__x86_64__)
    EM_X86_64,
#elif defined(__aarch64__)
    EM_AARCH64,
#elif defined(__i386__)
    EM_386,
#elif defined(__arm__)
    EM_ARM,
#elif defined(__riscv)
    EM_RISCV,
#elif defined(__powerpc64__)
    EM_PPC64,
#elif defined(__s390x__)
    EM_S390,
#elif defined(__loongarch__)
    258,  // EM_LOONGARCH, newer than some elf.h
#else
#error "name this machine's EM_ number here"
#endif
    sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32,
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB};

/// The name of an ELF machine, such as "x86-64"; null for an unknown number.
constexpr const char* elf_machine_name(unsigned machine) noexcept {
  switch (machine) {
    case EM_386:
      return "i386";
    case EM_X86_64:
      return "x86-64";
    case EM_ARM:
      return "arm";
    case EM_AARCH64:
      return "aarch64";
    case EM_RISCV:
      return "riscv";
    case EM_PPC:
      return "ppc";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390x";
    case EM_MIPS:
      return "mips";
    case EM_SPARCV9:
      return "sparc64";
    case 258:
      return "loongarch";
    case EM_CUDA:
      return "NVIDIA GPUs (CUDA)";
    case EM_AMDGPU:
      return "AMD GPUs";
    case 205:  // EM_INTELGT, newer than some elf.h
      return "Intel GPUs";
    default:
      return nullptr;
  }
}

/// An image of a module, of which nothing beyond its end is read. Owns nothing.
class ImageBytes {
 public:
  /// `bytes` bytes from `image` on, which outlive this object.
  ImageBytes(const void* image, std::uint64_t bytes) noexcept
      : start_(static_cast<const std::byte*>(image)), bytes_(bytes) {}
  /// The bytes of a span, which outlive this object.
  explicit ImageBytes(std::span<const std::byte> image) noexcept : ImageBytes(image.data(), image.size()) {}

  /// How many bytes there are.
  std::uint64_t size() const noexcept { return bytes_; }
  /// Whether `bytes` bytes from `offset` on are within the image.
  bool holds(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return offset <= bytes_ && bytes <= bytes_ - offset;
  }
  /// Whether the image begins with that text.
  bool begins_with(std::string_view text) const noexcept {
    return bytes_ >= text.size() && std::memcmp(start_, text.data(), text.size()) == 0;
  }
  /// The i-th T of a table at `offset`. The caller has checked that it is within bounds.
  template <class T>
  T get(std::uint64_t offset, std::uint64_t i = 0) const noexcept {
    T value;
    std::memcpy(&value, start_ + offset + i * sizeof(T), sizeof(T));
    return value;
  }
  /// Reads a T at `offset`; returns false if it doesn't lie within the image.
  template <class T>
  bool read(std::uint64_t offset, T& out) const noexcept {
    if (!holds(offset, sizeof(T))) return false;
    std::memcpy(&out, start_ + offset, sizeof(T));
    return true;
  }
  /// The text at `offset` up to a NUL, cut at `end`. Both must be within bounds.
  std::string text(std::uint64_t offset, std::uint64_t end) const {
    const auto* const first = reinterpret_cast<const char*>(start_ + offset);
    return std::string(first, strnlen(first, end - offset));
  }
  /// A part of the image, which must be within bounds.
  ImageBytes part(std::uint64_t offset, std::uint64_t bytes) const noexcept { return {start_ + offset, bytes}; }

  /// The message about an image whose `what` reaches beyond its end.
  std::string cut_off(const char* what) const {
    return "the image has " + std::to_string(bytes_) + " bytes and its " + what +
           " reaches beyond: it was cut off or is damaged";
  }

 private:
  const std::byte* start_;
  std::uint64_t bytes_;
};

/// Returns "" if everything that the headers of a 64-bit little-endian ELF file point at lies within the file, else
/// what is wrong. `what` and `whose` name it: "the cubin is not a 64-bit little-endian ELF file, which CUDA's are".
inline std::string gpu_elf_problem(const ImageBytes& image, const std::string& what, const std::string& whose) {
  Elf64_Ehdr header{};
  if (!image.read(0, header)) return image.cut_off("ELF header");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return "the " + what + " is not a 64-bit little-endian ELF file, which " + whose + "'s are";
  }
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (header.e_shoff > image.size() || header.e_shentsize < sizeof(section) ||
        !image.read(header.e_shoff + i * header.e_shentsize, section)) {
      return image.cut_off("section table");
    }
    const bool has_bytes = section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
    if (has_bytes && !image.holds(section.sh_offset, section.sh_size)) return image.cut_off("section");
  }
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (header.e_phoff > image.size() || header.e_phentsize < sizeof(segment) ||
        !image.read(header.e_phoff + i * header.e_phentsize, segment)) {
      return image.cut_off("segment table");
    }
    if (!image.holds(segment.p_offset, segment.p_filesz)) return image.cut_off("segment");
  }
  return "";
}

}  // namespace anyplace::backend
