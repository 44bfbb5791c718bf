// SPDX-License-Identifier: Apache-2.0
#include "stand_in.h"

#include <cstring>

#include "../engine/elf_mark.h"

namespace anyplace::doubles::hip {
namespace {

constexpr uint64_t alignment = 4096;  // of the images in a bundle

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
  constexpr Row rows[] = {{"gfx000", 0xfe}, {"gfx906", 0x2f},  {"gfx908", 0x30},  {"gfx90a", 0x3f},
                          {"gfx942", 0x4c}, {"gfx1030", 0x36}, {"gfx1100", 0x41}, {"gfx1201", 0x4e}};
  for (const Row& row : rows) {
    if (row.arch == arch) return row.machine;
  }
  return 0;
}

std::optional<std::string> make_code_object(std::string_view host_image, std::string_view arch) {
  const uint32_t machine = machine_of(arch);
  return machine == 0 ? std::nullopt : mark_elf(host_image, amd_machine, machine);
}

std::string make_bundle(const std::vector<std::pair<std::string, std::string>>& images_by_arch) {
  std::vector<BundleEntry> entries{{"host-x86_64-unknown-linux--", ""}};
  for (const auto& [arch, image] : images_by_arch) entries.push_back({"hipv4-amdgcn-amd-amdhsa--" + arch, image});
  uint64_t head = bundle_magic.size() + 8;
  for (const BundleEntry& entry : entries) head += 24 + entry.id.size();
  std::string bundle(bundle_magic);
  append_number(bundle, entries.size());
  uint64_t next = (head + alignment - 1) / alignment * alignment;
  for (const BundleEntry& entry : entries) {
    append_number(bundle, next);
    append_number(bundle, entry.image.size());
    append_number(bundle, entry.id.size());
    bundle += entry.id;
    next = (next + entry.image.size() + alignment - 1) / alignment * alignment;
  }
  for (const BundleEntry& entry : entries) {
    bundle.resize((bundle.size() + alignment - 1) / alignment * alignment, '\0');
    bundle += entry.image;
  }
  return bundle;
}

uint32_t machine_of_code_object(const void* image) noexcept { return elf_header(image).e_flags & 0xffU; }

std::vector<BundleEntry> read_bundle(const void* image) {
  const char* const bytes = static_cast<const char*>(image);
  const char* at = bytes + bundle_magic.size();
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
