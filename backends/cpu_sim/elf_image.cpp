// SPDX-License-Identifier: Apache-2.0
#include "elf_image.h"

#include <elf.h>
#include <link.h>

#include <bit>
#include <cstddef>
#include <cstring>

#include "failure.h"

namespace anyplace::cpu_sim {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Dynamic = ElfW(Dyn);
using Symbol = ElfW(Sym);

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr const char* kArchitecture = "x86-64";
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr const char* kArchitecture = "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
constexpr uint16_t kMachine = EM_RISCV;
constexpr const char* kArchitecture = "riscv64";
#elif defined(__powerpc64__)
constexpr uint16_t kMachine = EM_PPC64;
constexpr const char* kArchitecture = "ppc64";
#else
#error "cpu_sim doesn't know this machine: add its ELF number and name here"
#endif

constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char kData = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
constexpr uint64_t kMostTagged = 4096;  // entries of a dynamic section; real ones have some thirty

[[noreturn]] void invalid(const std::string& why) { fail(ANYPLACE_STATUS_INVALID_IMAGE, "the image is " + why); }

[[noreturn]] void truncated(const std::string& what, uint64_t end, uint64_t bytes) {
  invalid("truncated: " + what + " ends at byte " + std::to_string(end) + " of " + std::to_string(bytes));
}

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "x86";
    case EM_AARCH64:
      return "aarch64";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    case EM_CUDA:
      return "NVIDIA CUDA";
    case EM_AMDGPU:
      return "AMD GPU";
    default:
      return "machine " + std::to_string(machine);
  }
}

/// Reads of an image of any alignment, each within its bounds.
class Image {
 public:
  Image(const void* image, uint64_t bytes) : start_(static_cast<const std::byte*>(image)), bytes_(bytes) {}

  uint64_t bytes() const noexcept { return bytes_; }
  bool holds(uint64_t offset, uint64_t size) const noexcept { return offset <= bytes_ && size <= bytes_ - offset; }

  /// The i-th T of a table at `offset`; the caller knows that it is within bounds.
  template <class T>
  T read(uint64_t offset, uint64_t i = 0) const noexcept {
    T value;
    std::memcpy(&value, start_ + offset + i * sizeof(T), sizeof(T));
    return value;
  }
  /// The text at `offset`, cut at `end`.
  std::string text(uint64_t offset, uint64_t end) const {
    const auto* first = reinterpret_cast<const char*>(start_ + offset);
    return std::string(first, strnlen(first, end - offset));
  }

 private:
  const std::byte* start_;
  uint64_t bytes_;
};

Header check_header(const Image& image) {
  if (image.bytes() < SELFMAG || std::memcmp(image.text(0, SELFMAG).c_str(), ELFMAG, SELFMAG) != 0) {
    invalid("not an ELF file");
  }
  if (image.bytes() < sizeof(Header)) truncated("the ELF header", sizeof(Header), image.bytes());
  const auto header = image.read<Header>(0);
  if (header.e_ident[EI_CLASS] != kClass) invalid("for " + std::string(kClass == ELFCLASS64 ? "32" : "64") + " bits");
  if (header.e_ident[EI_DATA] != kData) invalid("of the other byte order");
  if (header.e_ident[EI_VERSION] != EV_CURRENT) invalid("of an unknown ELF version");
  if (header.e_machine != kMachine) {
    invalid("for " + machine_name(header.e_machine) + "; this machine is " + kArchitecture);
  }
  if (header.e_type != ET_DYN)
    invalid("an ELF file of type " + std::to_string(header.e_type) + ", not a shared object");
  if (header.e_phentsize != sizeof(Segment) || header.e_phnum == 0) invalid("without usable program headers");
  const uint64_t segments = uint64_t{header.e_phnum} * sizeof(Segment);
  if (!image.holds(header.e_phoff, segments)) {
    truncated("the program header table", header.e_phoff + segments, image.bytes());
  }
  if (header.e_shoff != 0 && header.e_shnum != 0) {
    const uint64_t sections = uint64_t{header.e_shnum} * header.e_shentsize;
    if (!image.holds(header.e_shoff, sections)) {
      truncated("the section header table", header.e_shoff + sections, image.bytes());
    }
  }
  return header;
}

std::vector<Segment> segments_of(const Image& image, const Header& header) {
  std::vector<Segment> segments;
  for (unsigned i = 0; i < header.e_phnum; ++i) segments.push_back(image.read<Segment>(header.e_phoff, i));
  return segments;
}

/// Whether [address, address + size) is in one loaded segment; in its part that comes from the image if `in_file`.
bool loaded(const std::vector<Segment>& segments, uint64_t address, uint64_t size, bool in_file) noexcept {
  for (const Segment& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t offset = address - segment.p_vaddr;
    const uint64_t room = in_file ? segment.p_filesz : segment.p_memsz;
    if (offset <= room && size <= room - offset) return true;
  }
  return false;
}

void check_dynamic(const Image& image, const std::vector<Segment>& segments, const Segment& dynamic) {
  if (!loaded(segments, dynamic.p_vaddr, dynamic.p_filesz, true)) invalid("damaged: its dynamic section is not loaded");
  const uint64_t count = dynamic.p_filesz / sizeof(Dynamic);
  if (count > kMostTagged) invalid("damaged: its dynamic section has " + std::to_string(count) + " entries");
  for (uint64_t i = 0; i < count; ++i) {
    const auto entry = image.read<Dynamic>(dynamic.p_offset, i);
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

void check_shared_object(const void* bytes_of_image, uint64_t bytes) {
  if (bytes_of_image == nullptr || bytes == 0) invalid("empty");
  const Image image(bytes_of_image, bytes);
  const Header header = check_header(image);
  const std::vector<Segment> segments = segments_of(image, header);
  const Segment* dynamic = nullptr;
  uint64_t loaded_end = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC && segment.p_type != PT_TLS) continue;
    if (!image.holds(segment.p_offset, segment.p_filesz)) {
      truncated("segment " + std::to_string(i), segment.p_offset + segment.p_filesz, bytes);
    }
    if (segment.p_filesz > segment.p_memsz)
      invalid("damaged: segment " + std::to_string(i) + " is longer than its memory");
    if (segment.p_type == PT_LOAD) {
      // The linker maps each at its place and takes the first for the lowest and the last for the highest.
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

std::vector<std::string> exported_functions(const void* bytes_of_image, uint64_t bytes, std::size_t most) {
  const Image image(bytes_of_image, bytes);
  const auto header = image.read<Header>(0);
  std::vector<std::string> names;
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Section)) return names;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto table = image.read<Section>(header.e_shoff, i);
    if (table.sh_type != SHT_DYNSYM || table.sh_link >= header.e_shnum) continue;
    const auto strings = image.read<Section>(header.e_shoff, table.sh_link);
    if (!image.holds(table.sh_offset, table.sh_size) || !image.holds(strings.sh_offset, strings.sh_size)) break;
    for (uint64_t s = 0; s < table.sh_size / sizeof(Symbol) && names.size() < most; ++s) {
      const auto symbol = image.read<Symbol>(table.sh_offset, s);
      if ((symbol.st_info & 0xf) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      if (symbol.st_name >= strings.sh_size) continue;
      std::string name = image.text(strings.sh_offset + symbol.st_name, strings.sh_offset + strings.sh_size);
      if (!name.empty() && name[0] != '_') names.push_back(std::move(name));
    }
  }
  return names;
}

const char* architecture() noexcept { return kArchitecture; }

}  // namespace anyplace::cpu_sim
