// SPDX-License-Identifier: Apache-2.0
//
// The layouts are from the ELF specification, LLVM's "User Guide for AMDGPU Backend" (ELF header flags) and Clang's
// "Offload Bundler" (bundles, and compressed ones of versions 1 to 3).
#include "image.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace anyplace::hip {
namespace {

using backend::ImageBytes;

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed_magic = "CCOB";

std::string code_object_problem(const ImageBytes& image) {
  return backend::gpu_elf_problem(image, "code object", "AMD");
}

struct BundleEntry {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string id;  ///< "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+", "host-x86_64-unknown-linux--"
};

/// Returns false if the table isn't complete.
bool read_bundle(const ImageBytes& image, std::vector<BundleEntry>& entries) {
  std::uint64_t at = bundle_magic.size();
  std::uint64_t count = 0;
  if (!image.read(at, count)) return false;
  at += sizeof(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t head[3];  // offset, size, length of the id
    if (!image.read(at, head)) return false;
    at += sizeof(head);
    if (!image.holds(at, head[2])) return false;
    entries.push_back({head[0], head[1], image.text(at, at + head[2])});
    at += head[2];
  }
  return true;
}

std::string bundle_problem(const ImageBytes& image) {
  std::vector<BundleEntry> entries;
  if (!read_bundle(image, entries)) return image.cut_off("table of code objects");
  for (const BundleEntry& entry : entries) {
    if (!image.holds(entry.offset, entry.bytes)) return image.cut_off("code object");
    if (entry.bytes == 0 || entry.id.rfind("host", 0) == 0) continue;
    if (std::string problem = code_object_problem(image.part(entry.offset, entry.bytes)); !problem.empty()) {
      return "in the code object for " + entry.id + " " + problem;
    }
  }
  return "";
}

std::string compressed_problem(const ImageBytes& image) {
  std::uint16_t version = 0;
  if (!image.read(compressed_magic.size(), version)) return image.cut_off("header");
  std::uint64_t bytes = 0;  // size of the whole; version 1 doesn't tell
  bool whole = true;
  if (version == 2) {
    std::uint32_t short_bytes = 0;
    whole = image.read(8, short_bytes);
    bytes = short_bytes;
  } else if (version >= 3) {
    whole = image.read(8, bytes);
  }
  return whole && bytes <= image.size() ? "" : image.cut_off("compressed bundle");
}

/// The name for the low bits of e_flags, such as "gfx90a"; "" if it isn't known.
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

std::string image_problem(const ImageBytes& image) {
  if (image.begins_with(bundle_magic)) return bundle_problem(image);
  if (image.begins_with(compressed_magic)) return compressed_problem(image);
  return code_object_problem(image);
}

std::string image_targets(const ImageBytes& image) {
  if (image.begins_with(compressed_magic)) return "";
  if (!image.begins_with(bundle_magic)) {
    Elf64_Ehdr header{};
    return image.read(0, header) ? machine_name(header.e_flags) : "";
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
