// SPDX-License-Identifier: Apache-2.0
#include "stand_in.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace anyplace::doubles::cuda {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kBytesPerLine = 90;  // 120 digits

// A cubin of ours keeps what it overwrote in the padding of e_ident, which the dynamic linker ignores.
constexpr std::size_t kKeptMachine = 9, kKeptFlags = 11, kMark = 15;
constexpr char kMarkValue = 'A';

constexpr uint16_t kFatbinPtx = 1, kFatbinElf = 2;
struct FatbinHead {
  uint32_t magic;
  uint16_t version;
  uint16_t head_bytes;
  uint64_t bytes;  // behind the head
};
struct FatbinEntryHead {
  uint16_t kind;
  uint16_t version;
  uint32_t head_bytes;
  uint64_t bytes;  // behind the head
  uint32_t compressed_bytes;
  uint32_t options;
  uint16_t minor;
  uint16_t major;
  uint32_t sm;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t plain_bytes;
};
static_assert(sizeof(FatbinHead) == 16 && sizeof(FatbinEntryHead) == 64);

void append_base64(std::string& text, std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
  }
}

/// Appends the bytes of `digits`; false if they aren't base 64.
bool append_decoded(std::string& bytes, std::string_view digits) {
  while (!digits.empty() && (digits.back() == '\r' || digits.back() == ' ')) digits.remove_suffix(1);
  if (digits.size() % 4 != 0) return false;
  while (!digits.empty() && digits.back() == '=') digits.remove_suffix(1);
  uint32_t group = 0;
  unsigned bits = 0;
  for (const char digit : digits) {
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) return false;
    group = group << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(static_cast<unsigned char>(group >> bits & 0xffU));
    }
  }
  return true;
}

Elf64_Ehdr elf_header(const void* image) noexcept {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return header;
}

/// The text behind `directive` in the first line that begins with it.
std::optional<std::string_view> directive_of(std::string_view ptx, std::string_view directive) {
  while (!ptx.empty()) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.substr(0, directive.size()) != directive) continue;
    line.remove_prefix(directive.size());
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == 0 || begin == std::string_view::npos) continue;
    return line.substr(begin);
  }
  return std::nullopt;
}

unsigned take_number(std::string_view& text) {
  unsigned value = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9' && value < 100000) {
    value = value * 10 + static_cast<unsigned>(text[0] - '0');
    text.remove_prefix(1);
  }
  return value;
}

}  // namespace

std::string make_ptx(std::string_view ptx, std::string_view host_image) {
  std::string text(ptx);
  if (text.empty())
    text = "// No kernels for a device: the host image alone.\n.version 6.0\n.target sm_52\n.address_size 64\n";
  if (text.back() != '\n') text += '\n';
  text += "\n// What follows are comments: the same kernels for the host, for tests without a device.\n";
  for (std::size_t i = 0; i < host_image.size(); i += kBytesPerLine) {
    text += kHostImageLine;
    append_base64(text, host_image.substr(i, kBytesPerLine));
    text += '\n';
  }
  return text;
}

std::optional<std::string> make_cubin(std::string_view host_image, unsigned sm) {
  if (host_image.size() < sizeof(Elf64_Ehdr) || host_image.substr(0, SELFMAG) != ELFMAG) return std::nullopt;
  Elf64_Ehdr header = elf_header(host_image.data());
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine == kCudaMachine) return std::nullopt;
  std::memcpy(header.e_ident + kKeptMachine, &header.e_machine, sizeof(header.e_machine));
  std::memcpy(header.e_ident + kKeptFlags, &header.e_flags, sizeof(header.e_flags));
  header.e_ident[kMark] = kMarkValue;
  header.e_machine = kCudaMachine;
  header.e_flags = sm << 16 | sm;  // as in cubins before CUDA 13: the virtual and the real architecture
  std::string cubin(host_image);
  std::memcpy(cubin.data(), &header, sizeof(header));
  return cubin;
}

std::string make_fatbin(const std::vector<FatbinEntry>& entries) {
  std::string body;
  for (const FatbinEntry& entry : entries) {
    std::string image = entry.image;
    if (entry.ptx) image += '\0';
    FatbinEntryHead head{};
    head.kind = entry.ptx ? kFatbinPtx : kFatbinElf;
    head.version = 0x101;
    head.head_bytes = sizeof(head);
    image.resize((image.size() + 7) / 8 * 8, '\0');
    head.bytes = image.size();
    head.sm = entry.sm;
    head.flags = 0x11;  // 64 bits, for Linux
    body.append(reinterpret_cast<const char*>(&head), sizeof(head));
    body += image;
  }
  const FatbinHead head{kFatbinMagic, 1, sizeof(FatbinHead), body.size()};
  return std::string(reinterpret_cast<const char*>(&head), sizeof(head)) + body;
}

std::optional<PtxHead> read_ptx_head(std::string_view ptx, std::string& why) {
  PtxHead head;
  auto version = directive_of(ptx, ".version");
  if (!version) {
    why = "Missing .version directive at start of file";
    return std::nullopt;
  }
  head.version_major = take_number(*version);
  if (!version->empty() && version->front() == '.') version->remove_prefix(1);
  head.version_minor = take_number(*version);
  auto target = directive_of(ptx, ".target");
  if (!target || target->substr(0, 3) != "sm_") {
    why = "Missing .target directive";
    return std::nullopt;
  }
  target->remove_prefix(3);
  head.target_sm = take_number(*target);
  return head;
}

std::vector<std::string> read_ptx_entries(std::string_view ptx) {
  constexpr std::string_view directive = ".entry ";
  std::vector<std::string> names;
  while (!ptx.empty()) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    line = line.substr(0, line.find("//"));
    const std::size_t at = line.find(directive);
    if (at == std::string_view::npos) continue;
    line.remove_prefix(at + directive.size());
    names.emplace_back(line.substr(0, line.find_first_of("( \t\r")));
  }
  return names;
}

std::optional<std::string> read_ptx_host_image(std::string_view ptx, std::string& why) {
  std::string image;
  std::size_t line = 0;
  bool found = false;
  while (!ptx.empty()) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    const std::string_view text = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    ++line;
    if (text.substr(0, kHostImageLine.size()) != kHostImageLine) continue;
    found = true;
    if (!append_decoded(image, text.substr(kHostImageLine.size()))) {
      why = "line " + std::to_string(line) + "; error : the host image is not base 64";
      return std::nullopt;
    }
  }
  if (!found) {
    why = "there is no host image in it (lines '" + std::string(kHostImageLine) +
          "...'), and the double compiles nothing";
    return std::nullopt;
  }
  return image;
}

bool is_cubin(const void* image) noexcept {
  return std::memcmp(image, ELFMAG, SELFMAG) == 0 && elf_header(image).e_machine == kCudaMachine;
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

unsigned cubin_sm(const void* image) noexcept {
  const Elf64_Ehdr header = elf_header(image);
  // CUDA 13 moved the architecture one byte up and says so in the ABI version.
  const bool new_layout = header.e_ident[kMark] != kMarkValue && header.e_ident[EI_ABIVERSION] >= 8;
  return header.e_flags >> (new_layout ? 8U : 0U) & 0xffU;
}

std::optional<std::string> read_cubin_host_image(std::string_view cubin) {
  if (cubin.size() < sizeof(Elf64_Ehdr) || cubin[kMark] != kMarkValue) return std::nullopt;
  Elf64_Ehdr header = elf_header(cubin.data());
  std::memcpy(&header.e_machine, header.e_ident + kKeptMachine, sizeof(header.e_machine));
  std::memcpy(&header.e_flags, header.e_ident + kKeptFlags, sizeof(header.e_flags));
  std::memset(header.e_ident + kKeptMachine, 0, EI_NIDENT - kKeptMachine);
  std::string image(cubin);
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

std::optional<std::vector<FatbinEntry>> read_fatbin(const void* image, std::string& why) {
  FatbinHead head;
  std::memcpy(&head, image, sizeof(head));
  const char* next = static_cast<const char*>(image) + head.head_bytes;
  uint64_t left = head.bytes;
  std::vector<FatbinEntry> entries;
  while (left > 0) {
    FatbinEntryHead entry;
    if (head.head_bytes < sizeof(head) || left < sizeof(entry)) {
      why = "the fatbin is damaged: an entry is cut off";
      return std::nullopt;
    }
    std::memcpy(&entry, next, sizeof(entry));
    if (entry.head_bytes < sizeof(entry) || entry.head_bytes > left || entry.bytes > left - entry.head_bytes) {
      why = "the fatbin is damaged: an entry reaches behind its end";
      return std::nullopt;
    }
    // Compressed entries are NVIDIA's own, and hold no host image that could be seen.
    if (entry.compressed_bytes == 0 && (entry.kind == kFatbinPtx || entry.kind == kFatbinElf)) {
      entries.push_back({entry.kind == kFatbinPtx, entry.sm, std::string(next + entry.head_bytes, entry.bytes)});
    }
    next += entry.head_bytes + entry.bytes;
    left -= entry.head_bytes + entry.bytes;
  }
  return entries;
}

}  // namespace anyplace::doubles::cuda
