// SPDX-License-Identifier: Apache-2.0
#include "stand_in.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace anyplace::doubles::hip {
namespace {

// A code object of ours keeps what it overwrote in the padding of e_ident, which the dynamic linker ignores.
constexpr std::size_t kKeptMachine = 9, kKeptFlags = 11, kMark = 15;
constexpr char kMarkValue = 'A';
constexpr uint64_t kAlignment = 4096;  // of the images in a bundle

Elf64_Ehdr elf_header(const void* image) noexcept {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return header;
}

void append_number(std::string& bytes, uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

uint64_t number_at(const char* bytes) noexcept {
  uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

}  // namespace

uint32_t machine_of(std::string_view arch) noexcept {
  struct Row {
    std::string_view arch;
    uint32_t machine;
  };
  // gfx000 is no device's: what is made for it is never taken for code for one.
  constexpr Row kRows[] = {{"gfx000", 0xfe}, {"gfx906", 0x2f},  {"gfx908", 0x30},  {"gfx90a", 0x3f},
                           {"gfx942", 0x4c}, {"gfx1030", 0x36}, {"gfx1100", 0x41}, {"gfx1201", 0x4e}};
  for (const Row& row : kRows) {
    if (row.arch == arch) return row.machine;
  }
  return 0;
}

std::optional<std::string> make_code_object(std::string_view host_image, std::string_view arch) {
  if (host_image.size() < sizeof(Elf64_Ehdr) || host_image.substr(0, SELFMAG) != ELFMAG) return std::nullopt;
  Elf64_Ehdr header = elf_header(host_image.data());
  const uint32_t machine = machine_of(arch);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine == kAmdMachine || machine == 0) return std::nullopt;
  std::memcpy(header.e_ident + kKeptMachine, &header.e_machine, sizeof(header.e_machine));
  std::memcpy(header.e_ident + kKeptFlags, &header.e_flags, sizeof(header.e_flags));
  header.e_ident[kMark] = kMarkValue;
  header.e_machine = kAmdMachine;
  header.e_flags = machine;
  std::string object(host_image);
  std::memcpy(object.data(), &header, sizeof(header));
  return object;
}

std::string make_bundle(const std::vector<std::pair<std::string, std::string>>& images_by_arch) {
  std::vector<BundleEntry> entries{{"host-x86_64-unknown-linux--", ""}};
  for (const auto& [arch, image] : images_by_arch) entries.push_back({"hipv4-amdgcn-amd-amdhsa--" + arch, image});
  uint64_t head = kBundleMagic.size() + 8;
  for (const BundleEntry& entry : entries) head += 24 + entry.id.size();
  std::string bundle(kBundleMagic);
  append_number(bundle, entries.size());
  uint64_t next = (head + kAlignment - 1) / kAlignment * kAlignment;
  for (const BundleEntry& entry : entries) {
    append_number(bundle, next);
    append_number(bundle, entry.image.size());
    append_number(bundle, entry.id.size());
    bundle += entry.id;
    next = (next + entry.image.size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  for (const BundleEntry& entry : entries) {
    bundle.resize((bundle.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
    bundle += entry.image;
  }
  return bundle;
}

bool is_code_object(const void* image) noexcept {
  return std::memcmp(image, ELFMAG, SELFMAG) == 0 && elf_header(image).e_machine == kAmdMachine;
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

uint32_t machine_of_code_object(const void* image) noexcept { return elf_header(image).e_flags & 0xffU; }

std::optional<std::string> read_host_image(std::string_view code_object) {
  if (code_object.size() < sizeof(Elf64_Ehdr) || code_object[kMark] != kMarkValue) return std::nullopt;
  Elf64_Ehdr header = elf_header(code_object.data());
  std::memcpy(&header.e_machine, header.e_ident + kKeptMachine, sizeof(header.e_machine));
  std::memcpy(&header.e_flags, header.e_ident + kKeptFlags, sizeof(header.e_flags));
  std::memset(header.e_ident + kKeptMachine, 0, EI_NIDENT - kKeptMachine);
  std::string image(code_object);
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

std::vector<BundleEntry> read_bundle(const void* image) {
  const char* const bytes = static_cast<const char*>(image);
  const char* at = bytes + kBundleMagic.size();
  std::vector<BundleEntry> entries(number_at(at));
  at += 8;
  for (BundleEntry& entry : entries) {
    const uint64_t id_bytes = number_at(at + 16);
    entry.image.assign(bytes + number_at(at), number_at(at + 8));
    entry.id.assign(at + 24, id_bytes);
    at += 24 + id_bytes;
  }
  return entries;
}

}  // namespace anyplace::doubles::hip
