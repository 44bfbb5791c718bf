// SPDX-License-Identifier: Apache-2.0
#include "elf_image.h"

#include <link.h>

#include <cstddef>

#include "anyplace/backend/kit/elf.h"
#include "failure.h"
#include "processor.h"

namespace anyplace::cpu_sim {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Dynamic = ElfW(Dyn);
using Symbol = ElfW(Sym);

using backend::own_elf;
using Image = backend::ImageBytes;

#ifndef PT_GNU_PROPERTY
#define PT_GNU_PROPERTY 0x6474e553
#endif

constexpr std::uint64_t most_tagged = 4096;  // Real dynamic sections have some thirty entries.

[[noreturn]] void invalid(const std::string& why) { fail(ANYPLACE_STATUS_INVALID_IMAGE, "the image is " + why); }

[[noreturn]] void truncated(const std::string& what, std::uint64_t end, std::uint64_t bytes) {
  invalid("truncated: " + what + " ends at byte " + std::to_string(end) + " of " + std::to_string(bytes));
}

std::string machine_name(unsigned machine) {
  const char* const name = backend::elf_machine_name(machine);
  return name == nullptr ? "machine " + std::to_string(machine) : name;
}

Header check_header(const Image& image) {
  if (!image.begins_with(ELFMAG)) invalid("not an ELF file");
  if (image.size() < sizeof(Header)) truncated("the ELF header", sizeof(Header), image.size());
  const auto header = image.get<Header>(0);
  if (header.e_ident[EI_CLASS] != own_elf.bits)
    invalid("for " + std::string(own_elf.bits == ELFCLASS64 ? "32" : "64") + " bits");
  if (header.e_ident[EI_DATA] != own_elf.order) invalid("of the other byte order");
  if (header.e_ident[EI_VERSION] != EV_CURRENT) invalid("of an unknown ELF version");
  if (header.e_machine != own_elf.machine) {
    invalid("for " + machine_name(header.e_machine) + "; this machine is " + architecture());
  }
  if (header.e_type != ET_DYN)
    invalid("an ELF file of type " + std::to_string(header.e_type) + ", not a shared object");
  if (header.e_phentsize != sizeof(Segment) || header.e_phnum == 0) invalid("without usable program headers");
  const std::uint64_t segments = std::uint64_t{header.e_phnum} * sizeof(Segment);
  if (!image.holds(header.e_phoff, segments)) {
    truncated("the program header table", header.e_phoff + segments, image.size());
  }
  if (header.e_shoff != 0 && header.e_shnum != 0) {
    const std::uint64_t sections = std::uint64_t{header.e_shnum} * header.e_shentsize;
    if (!image.holds(header.e_shoff, sections)) {
      truncated("the section header table", header.e_shoff + sections, image.size());
    }
  }
  return header;
}

std::vector<Segment> segments_of(const Image& image, const Header& header) {
  std::vector<Segment> segments;
  for (unsigned i = 0; i < header.e_phnum; ++i) segments.push_back(image.get<Segment>(header.e_phoff, i));
  return segments;
}

/// Returns whether [address, address + size) is in one loaded segment and, if `in_file`, in its part from the image.
bool loaded(const std::vector<Segment>& segments, std::uint64_t address, std::uint64_t size, bool in_file) noexcept {
  for (const Segment& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t offset = address - segment.p_vaddr;
    const std::uint64_t room = in_file ? segment.p_filesz : segment.p_memsz;
    if (offset <= room && size <= room - offset) return true;
  }
  return false;
}

void check_dynamic(const Image& image, const std::vector<Segment>& segments, const Segment& dynamic) {
  if (!loaded(segments, dynamic.p_vaddr, dynamic.p_filesz, true)) invalid("damaged: its dynamic section is not loaded");
  const std::uint64_t count = dynamic.p_filesz / sizeof(Dynamic);
  if (count > most_tagged) invalid("damaged: its dynamic section has " + std::to_string(count) + " entries");
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = image.get<Dynamic>(dynamic.p_offset, i);
    switch (entry.d_tag) {
      case DT_NULL:
        return;
      case DT_HASH:
      case DT_GNU_HASH:
      case DT_STRTAB:
      case DT_SYMTAB:
      case DT_RELA:
      case DT_REL:
      case DT_JMPREL:
      case DT_VERSYM:
      case DT_VERNEED:
      case DT_VERDEF:
      case DT_INIT:
      case DT_FINI:
      case DT_INIT_ARRAY:
      case DT_FINI_ARRAY:
        if (!loaded(segments, entry.d_un.d_ptr, 1, false)) {
          invalid("damaged: entry " + std::to_string(i) + " of its dynamic section points outside it");
        }
        break;
      default:
        break;
    }
  }
  invalid("damaged: its dynamic section has no end");
}

}  // namespace

void check_shared_object(const void* bytes_of_image, std::uint64_t bytes) {
  if (bytes_of_image == nullptr || bytes == 0) invalid("empty");
  const Image image(bytes_of_image, bytes);
  const Header header = check_header(image);
  const std::vector<Segment> segments = segments_of(image, header);
  const Segment* dynamic = nullptr;
  std::uint64_t loaded_end = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    if (segment.p_type == PT_GNU_PROPERTY && image.holds(segment.p_offset, segment.p_filesz)) {
      check_level(needed_level(image, segment.p_offset, segment.p_filesz));
    }
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC && segment.p_type != PT_TLS) continue;
    if (!image.holds(segment.p_offset, segment.p_filesz)) {
      truncated("segment " + std::to_string(i), segment.p_offset + segment.p_filesz, bytes);
    }
    if (segment.p_filesz > segment.p_memsz)
      invalid("damaged: segment " + std::to_string(i) + " is longer than its memory");
    if (segment.p_type == PT_LOAD) {
      // The linker takes the first segment for the lowest and the last for the highest, so the order is checked.
      if (segment.p_vaddr < loaded_end || segment.p_memsz > INT64_MAX || segment.p_vaddr > INT64_MAX) {
        invalid("damaged: segment " + std::to_string(i) + " is not where it can be loaded");
      }
      loaded_end = segment.p_vaddr + segment.p_memsz;
    }
    if (segment.p_type == PT_DYNAMIC) dynamic = &segments[i];
  }
  if (loaded_end == 0) invalid("damaged: it has nothing to load");
  if (dynamic == nullptr) invalid("damaged: it has no dynamic section");
  check_dynamic(image, segments, *dynamic);
}

std::vector<std::string> exported_functions(const void* bytes_of_image, std::uint64_t bytes, std::size_t most) {
  const Image image(bytes_of_image, bytes);
  const auto header = image.get<Header>(0);
  std::vector<std::string> names;
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Section)) return names;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto table = image.get<Section>(header.e_shoff, i);
    if (table.sh_type != SHT_DYNSYM || table.sh_link >= header.e_shnum) continue;
    const auto strings = image.get<Section>(header.e_shoff, table.sh_link);
    if (!image.holds(table.sh_offset, table.sh_size) || !image.holds(strings.sh_offset, strings.sh_size)) break;
    for (std::uint64_t s = 0; s < table.sh_size / sizeof(Symbol) && names.size() < most; ++s) {
      const auto symbol = image.get<Symbol>(table.sh_offset, s);
      if ((symbol.st_info & 0xf) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      if (symbol.st_name >= strings.sh_size) continue;
      std::string name = image.text(strings.sh_offset + symbol.st_name, strings.sh_offset + strings.sh_size);
      if (!name.empty() && name[0] != '_') names.push_back(std::move(name));
    }
  }
  return names;
}

const char* architecture() noexcept { return backend::elf_machine_name(own_elf.machine); }

}  // namespace anyplace::cpu_sim
