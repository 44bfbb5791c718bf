// SPDX-License-Identifier: Apache-2.0
#include "elf_mark.h"

#include <algorithm>
#include <cstring>

namespace anyplace::doubles {
namespace {

// Of e_ident.
constexpr std::size_t kept_machine = 9, kept_flags = 11, mark = 15;
constexpr char mark_value = 'A';

std::string with_header(std::string_view image, const Elf64_Ehdr& header) {
  std::string changed(image);
  std::memcpy(changed.data(), &header, sizeof(header));
  return changed;
}

}  // namespace

Elf64_Ehdr elf_header(const void* image) noexcept {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return header;
}

bool is_marked(const Elf64_Ehdr& header) noexcept { return header.e_ident[mark] == mark_value; }

std::optional<std::string> mark_elf(std::string_view host_image, uint16_t machine, uint32_t flags) {
  if (host_image.size() < sizeof(Elf64_Ehdr) || host_image.substr(0, SELFMAG) != ELFMAG) return std::nullopt;
  Elf64_Ehdr header = elf_header(host_image.data());
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine == machine) return std::nullopt;
  std::memcpy(header.e_ident + kept_machine, &header.e_machine, sizeof(header.e_machine));
  std::memcpy(header.e_ident + kept_flags, &header.e_flags, sizeof(header.e_flags));
  header.e_ident[mark] = mark_value;
  header.e_machine = machine;
  header.e_flags = flags;
  return with_header(host_image, header);
}

std::optional<std::string> unmark_elf(std::string_view image) {
  if (image.size() < sizeof(Elf64_Ehdr) || image[mark] != mark_value) return std::nullopt;
  Elf64_Ehdr header = elf_header(image.data());
  std::memcpy(&header.e_machine, header.e_ident + kept_machine, sizeof(header.e_machine));
  std::memcpy(&header.e_flags, header.e_ident + kept_flags, sizeof(header.e_flags));
  std::memset(header.e_ident + kept_machine, 0, EI_NIDENT - kept_machine);
  return with_header(image, header);
}

bool is_elf_for(const void* image, uint16_t machine) noexcept {
  return std::memcmp(image, ELFMAG, SELFMAG) == 0 && elf_header(image).e_machine == machine;
}

uint64_t elf_bytes(const void* image) noexcept {
  const Elf64_Ehdr header = elf_header(image);
  uint64_t end = sizeof(header);
  end = std::max<uint64_t>(end, header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize);
  end = std::max<uint64_t>(end, header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize);
  const char* const bytes = static_cast<const char*>(image);
  for (unsigned i = 0; i < header.e_phnum && header.e_phentsize == sizeof(Elf64_Phdr); ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes + header.e_phoff + i * sizeof(segment), sizeof(segment));
    end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  for (unsigned i = 0; i < header.e_shnum && header.e_shentsize == sizeof(Elf64_Shdr); ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type != SHT_NOBITS) end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

}  // namespace anyplace::doubles
