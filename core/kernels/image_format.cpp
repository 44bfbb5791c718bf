// SPDX-License-Identifier: Apache-2.0
//
// Where the magic numbers come from: the ELF specification (e_ident, e_type, e_machine; EM_CUDA and EM_AMDGPU are
// registered there), the SPIR-V specification 2.3, Clang's "Offload Bundler" documentation, the PTX ISA ("PTX Module
// Directives"), and CUDA's fatbinary_section.h.
#include "kernels/image_format.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "anyplace/backend/abi.h"
#include "anyplace/backend/kit/elf.h"

namespace anyplace::detail {

namespace {

constexpr std::size_t text_to_look_at = 64 * 1024;

using Bytes = std::span<const std::byte>;

const char* name_of(std::uint32_t format) {
  switch (format) {
#define ANYPLACE_IMAGE_NAME(upper, lower, number, text) \
  case number:                                          \
    return text;
    ANYPLACE_IMAGE_LIST(ANYPLACE_IMAGE_NAME)
#undef ANYPLACE_IMAGE_NAME
    default:
      return "an unknown format";
  }
}

ImageFormat known(std::uint32_t format) { return {format, name_of(format)}; }

bool begins_with(Bytes image, std::string_view magic) {
  return image.size() >= magic.size() && std::memcmp(image.data(), magic.data(), magic.size()) == 0;
}

std::uint8_t byte_at(Bytes image, std::size_t offset) { return std::to_integer<std::uint8_t>(image[offset]); }

std::uint16_t half_at(Bytes image, std::size_t offset, bool little) {
  const unsigned first = byte_at(image, offset);
  const unsigned second = byte_at(image, offset + 1);
  return static_cast<std::uint16_t>(little ? second << 8 | first : first << 8 | second);
}

std::string machine_name(unsigned machine) {
  const char* const name = backend::elf_machine_name(machine);
  return name != nullptr ? name : fmt::format("machine {}", machine);
}

ImageFormat identify_elf(Bytes image) {
  constexpr std::size_t to_machine = 20;
  if (image.size() < to_machine) return {0, "an ELF file that is cut off"};
  const bool little = byte_at(image, EI_DATA) != ELFDATA2MSB;
  const std::uint16_t type = half_at(image, 16, little);
  const std::uint16_t machine = half_at(image, 18, little);
  if (machine == EM_CUDA) return known(ANYPLACE_IMAGE_CUBIN);
  if (machine == EM_AMDGPU) return known(ANYPLACE_IMAGE_HSACO);
  constexpr backend::ElfKind host = backend::own_elf;
  const bool for_host =
      machine == host.machine && byte_at(image, EI_CLASS) == host.bits && little == (host.order == ELFDATA2LSB);
  if (for_host && type == ET_DYN) return known(ANYPLACE_IMAGE_SHARED_OBJECT);
  const char* const what = type == ET_DYN    ? "a shared object"
                           : type == ET_REL  ? "an object file; link it with -shared"
                           : type == ET_EXEC ? "a program"
                                             : "neither a shared object nor a program";
  return {0, fmt::format("an ELF file for {} ({})", machine_name(machine), what)};
}

/// Bytes beyond ASCII are allowed, because comments are written in every language.
bool is_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
}

/// Whether `text` contains `word` as a whole word.
bool has_word(std::string_view text, std::string_view word) {
  const auto part_of_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t behind = at + word.size();
    const bool begins = at == 0 || !part_of_word(text[at - 1]);
    const bool ends = behind == text.size() || !part_of_word(text[behind]);
    if (begins && ends) return true;
  }
  return false;
}

ImageFormat identify_text(std::string_view text) {
  if (has_word(text, ".version") && has_word(text, ".target")) return known(ANYPLACE_IMAGE_PTX);
  if (has_word(text, "kernel") || has_word(text, "__kernel")) return known(ANYPLACE_IMAGE_OPENCL_C);
  return {0, "text that is neither PTX nor OpenCL C"};
}

}  // namespace

ImageFormat identify_image(Bytes image) {
  using namespace std::string_view_literals;
  if (image.empty()) return {0, "empty"};
  if (begins_with(image,
                  "\x7f"
                  "ELF"sv)) {
    return identify_elf(image);
  }
  if (begins_with(image, "\x50\xed\x55\xba"sv)) return known(ANYPLACE_IMAGE_FATBIN);
  if (begins_with(image, "__CLANG_OFFLOAD_BUNDLE__"sv) || begins_with(image, "CCOB"sv)) {
    return known(ANYPLACE_IMAGE_HSACO);
  }
  if (begins_with(image, "\x03\x02\x23\x07"sv) || begins_with(image, "\x07\x23\x02\x03"sv)) {
    return known(ANYPLACE_IMAGE_SPIRV);
  }
  if (begins_with(image, "BC\xc0\xde"sv)) return {0, "LLVM bitcode; link it for the device first"};
  if (begins_with(image, "!<arch>\n"sv)) return {0, "a static library; link it with -shared first"};

  std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  if (text.back() == '\0') text.remove_suffix(1);
  text = text.substr(0, text_to_look_at);
  if (!text.empty() && is_text(text)) return identify_text(text);
  std::string beginning;
  for (const std::byte byte : image.first(std::min<std::size_t>(image.size(), 8))) {
    beginning += fmt::format("{}{:02x}", beginning.empty() ? "" : " ", std::to_integer<unsigned>(byte));
  }
  return {0, fmt::format("of no format that is known (it begins with {})", beginning)};
}

std::string describe_formats(std::uint64_t image_formats) {
  std::string all;
  const auto add = [&](std::uint32_t number) {
    if ((image_formats >> number & 1) == 0) return;
    all += all.empty() ? "" : ", or ";
    all += name_of(number);
  };
#define ANYPLACE_IMAGE_ADD(upper, lower, number, text) add(number);
  ANYPLACE_IMAGE_LIST(ANYPLACE_IMAGE_ADD)
#undef ANYPLACE_IMAGE_ADD
  return all.empty() ? "no image at all" : all;
}

}  // namespace anyplace::detail
