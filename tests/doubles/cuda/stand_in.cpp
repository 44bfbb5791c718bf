// SPDX-License-Identifier: Apache-2.0
#include "stand_in.h"

#include <algorithm>
#include <cstring>

#include "../engine/elf_mark.h"

namespace anyplace::doubles::cuda {
namespace {

constexpr std::string_view digit_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t bytes_per_line = 90;  // 120 digits

constexpr uint16_t fatbin_ptx = 1, fatbin_elf = 2;
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
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? digit_characters[group >> (18 - 6 * k) & 63U] : '=';
  }
}

/// The value of each digit; `no_digit` for the other characters.
constexpr unsigned char no_digit = 64;
struct DigitValues {
  unsigned char of[256];
  constexpr DigitValues() : of() {
    for (unsigned char& value : of) value = no_digit;
    for (unsigned char i = 0; i < no_digit; ++i) of[static_cast<unsigned char>(digit_characters[i])] = i;
  }
};
constexpr DigitValues digit_values;

/// Appends the bytes of `digits`; false if they aren't base 64. It is plain C: the doubles are built without
/// optimisation, and a module has tens of thousands of digits.
bool append_decoded(std::string& bytes, std::string_view digits) {
  while (!digits.empty() && (digits.back() == '\r' || digits.back() == ' ')) digits.remove_suffix(1);
  if (digits.size() % 4 != 0) return false;
  while (!digits.empty() && digits.back() == '=') digits.remove_suffix(1);
  const std::size_t before = bytes.size();
  bytes.resize(before + digits.size() * 3 / 4);
  char* out = bytes.data() + before;
  const char* const end = digits.data() + digits.size();
  uint32_t group = 0;
  unsigned bits = 0;
  for (const char* digit = digits.data(); digit != end; ++digit) {
    const unsigned char value = digit_values.of[static_cast<unsigned char>(*digit)];
    if (value == no_digit) return false;
    group = group << 6 | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    *out++ = static_cast<char>(group >> bits & 0xffU);
  }
  return true;
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
  for (std::size_t i = 0; i < host_image.size(); i += bytes_per_line) {
    text += host_image_line;
    append_base64(text, host_image.substr(i, bytes_per_line));
    text += '\n';
  }
  return text;
}

std::optional<std::string> make_cubin(std::string_view host_image, unsigned sm) {
  // As in cubins before CUDA 13: the virtual and the real architecture.
  return mark_elf(host_image, cuda_machine, sm << 16 | sm);
}

std::string make_fatbin(const std::vector<FatbinEntry>& entries) {
  std::string body;
  for (const FatbinEntry& entry : entries) {
    std::string image = entry.image;
    if (entry.ptx) image += '\0';
    FatbinEntryHead head{};
    head.kind = entry.ptx ? fatbin_ptx : fatbin_elf;
    head.version = 0x101;
    head.head_bytes = sizeof(head);
    image.resize((image.size() + 7) / 8 * 8, '\0');
    head.bytes = image.size();
    head.sm = entry.sm;
    head.flags = 0x11;  // 64 bits, for Linux
    body.append(reinterpret_cast<const char*>(&head), sizeof(head));
    body += image;
  }
  const FatbinHead head{fatbin_magic, 1, sizeof(FatbinHead), body.size()};
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
    if (text.substr(0, host_image_line.size()) != host_image_line) continue;
    found = true;
    if (!append_decoded(image, text.substr(host_image_line.size()))) {
      why = "line " + std::to_string(line) + "; error : the host image is not base 64";
      return std::nullopt;
    }
  }
  if (!found) {
    why = "there is no host image in it (lines '" + std::string(host_image_line) +
          "...'), and the double compiles nothing";
    return std::nullopt;
  }
  return image;
}

unsigned cubin_sm(const void* image) noexcept {
  const Elf64_Ehdr header = elf_header(image);
  // CUDA 13 moved the architecture one byte up and says so in the ABI version.
  const bool new_layout = !is_marked(header) && header.e_ident[EI_ABIVERSION] >= 8;
  return header.e_flags >> (new_layout ? 8U : 0U) & 0xffU;
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
    if (entry.compressed_bytes == 0 && (entry.kind == fatbin_ptx || entry.kind == fatbin_elf)) {
      entries.push_back({entry.kind == fatbin_ptx, entry.sm, std::string(next + entry.head_bytes, entry.bytes)});
    }
    next += entry.head_bytes + entry.bytes;
    left -= entry.head_bytes + entry.bytes;
  }
  return entries;
}

}  // namespace anyplace::doubles::cuda
