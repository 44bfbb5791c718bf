// SPDX-License-Identifier: Apache-2.0
//
// Where the layouts come from: the ELF specification; "User Guide for AMDGPU Backend" of LLVM (ELF header flags), and
// Clang's "Offload Bundler" (bundles, and compressed ones from version 1 to 3).
#include "image.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace anyplace::hip {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed_magic = "CCOB";

bool within(std::uint64_t offset, std::uint64_t bytes, std::uint64_t all) {
  return offset <= all && bytes <= all - offset;
}

/// False if it doesn't lie within the image.
template <class T>
bool read(Bytes image, std::uint64_t offset, T& out) {
  if (!within(offset, sizeof(T), image.size())) return false;
  std::memcpy(&out, image.data() + offset, sizeof(T));
  return true;
}

bool begins_with(Bytes image, std::string_view text) {
  return image.size() >= text.size() && std::memcmp(image.data(), text.data(), text.size()) == 0;
}

std::string cut_off(const char* what, Bytes image) {
  return std::string("the image has ") + std::to_string(image.size()) + " bytes and its " + what +
         " reaches beyond: it was cut off or is damaged";
}

std::string code_object_problem(Bytes image) {
  Elf64_Ehdr header{};
  if (!read(image, 0, header)) return cut_off("ELF header", image);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return "the code object is not a 64-bit little-endian ELF file, which AMD's are";
  }
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (header.e_shoff > image.size() || header.e_shentsize < sizeof(section) ||
        !read(image, header.e_shoff + i * header.e_shentsize, section)) {
      return cut_off("section table", image);
    }
    const bool has_bytes = section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
    if (has_bytes && !within(section.sh_offset, section.sh_size, image.size())) {
      return cut_off("section", image);
    }
  }
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (header.e_phoff > image.size() || header.e_phentsize < sizeof(segment) ||
        !read(image, header.e_phoff + i * header.e_phentsize, segment)) {
      return cut_off("segment table", image);
    }
    if (!within(segment.p_offset, segment.p_filesz, image.size())) return cut_off("segment", image);
  }
  return "";
}

struct BundleEntry {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string id;  ///< "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+", "host-x86_64-unknown-linux--"
};

/// False if the table isn't whole.
bool read_bundle(Bytes image, std::vector<BundleEntry>& entries) {
  std::uint64_t at = bundle_magic.size();
  std::uint64_t count = 0;
  if (!read(image, at, count)) return false;
  at += sizeof(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t head[3];  // offset, bytes, length of the id
    if (!read(image, at, head)) return false;
    at += sizeof(head);
    if (!within(at, head[2], image.size())) return false;
    entries.push_back({head[0], head[1], {reinterpret_cast<const char*>(image.data() + at), head[2]}});
    at += head[2];
  }
  return true;
}

std::string bundle_problem(Bytes image) {
  std::vector<BundleEntry> entries;
  if (!read_bundle(image, entries)) return cut_off("table of code objects", image);
  for (const BundleEntry& entry : entries) {
    if (!within(entry.offset, entry.bytes, image.size())) return cut_off("code object", image);
    if (entry.bytes == 0 || entry.id.rfind("host", 0) == 0) continue;
    const Bytes object = image.subspan(entry.offset, entry.bytes);
    if (std::string problem = code_object_problem(object); !problem.empty()) {
      return "in the code object for " + entry.id + " " + problem;
    }
  }
  return "";
}

std::string compressed_problem(Bytes image) {
  std::uint16_t version = 0;
  if (!read(image, compressed_magic.size(), version)) return cut_off("header", image);
  std::uint64_t bytes = 0;  // of the whole; version 1 doesn't say
  bool whole = true;
  if (version == 2) {
    std::uint32_t short_bytes = 0;
    whole = read(image, 8, short_bytes);
    bytes = short_bytes;
  } else if (version >= 3) {
    whole = read(image, 8, bytes);
  }
  return whole && bytes <= image.size() ? "" : cut_off("compressed bundle", image);
}

/// "gfx90a" for the low bits of e_flags; "" for one that isn't known here.
std::string machine_name(std::uint32_t flags) {
  struct Row {
    std::uint32_t machine;
    const char* name;
  };
  constexpr Row rows[] = {{0x2a, "gfx803"},  {0x2c, "gfx900"},  {0x2d, "gfx902"},  {0x2e, "gfx904"},  {0x2f, "gfx906"},
                          {0x30, "gfx908"},  {0x31, "gfx909"},  {0x32, "gfx90c"},  {0x33, "gfx1010"}, {0x34, "gfx1011"},
                          {0x35, "gfx1012"}, {0x36, "gfx1030"}, {0x37, "gfx1031"}, {0x38, "gfx1032"}, {0x39, "gfx1033"},
                          {0x3d, "gfx1035"}, {0x3e, "gfx1034"}, {0x3f, "gfx90a"},  {0x40, "gfx940"},  {0x41, "gfx1100"},
                          {0x42, "gfx1013"}, {0x43, "gfx1150"}, {0x44, "gfx1103"}, {0x45, "gfx1036"}, {0x46, "gfx1101"},
                          {0x47, "gfx1102"}, {0x48, "gfx1200"}, {0x4a, "gfx1151"}, {0x4b, "gfx941"},  {0x4c, "gfx942"},
                          {0x4e, "gfx1201"}, {0x4f, "gfx950"}};
  for (const Row& row : rows) {
    if (row.machine == (flags & 0xffU)) return row.name;
  }
  return "";
}

}  // namespace

std::string image_problem(Bytes image) {
  if (begins_with(image, bundle_magic)) return bundle_problem(image);
  if (begins_with(image, compressed_magic)) return compressed_problem(image);
  return code_object_problem(image);
}

std::string image_targets(Bytes image) {
  if (begins_with(image, compressed_magic)) return "";
  if (!begins_with(image, bundle_magic)) {
    Elf64_Ehdr header{};
    return read(image, 0, header) ? machine_name(header.e_flags) : "";
  }
  std::vector<BundleEntry> entries;
  if (!read_bundle(image, entries)) return "";
  std::string targets;
  for (const BundleEntry& entry : entries) {
    const std::size_t begin = entry.id.find("gfx");
    if (begin == std::string::npos) continue;
    targets += (targets.empty() ? "" : ", ") + entry.id.substr(begin);
  }
  return targets;
}

}  // namespace anyplace::hip
