// SPDX-License-Identifier: Apache-2.0
//
// The layouts are from the ELF specification, CUDA's fatbinary_section.h and the header that fatbinary writes; the
// versions of PTX are from the release history in the PTX ISA manual.
#include "image.h"

#include <cctype>

#include "anyplace/backend/abi.h"

namespace anyplace::cuda {
namespace {

using backend::ImageBytes;

std::string fatbin_problem(const ImageBytes& image) {
  struct Header {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t header_bytes;
    std::uint64_t bytes;  // of the data after the header
  } header{};
  if (!image.read(0, header)) return image.cut_off("fatbin header");
  if (header.header_bytes < sizeof(header)) return "the fatbin's header says a size that none has: it is damaged";
  if (!image.holds(header.header_bytes, header.bytes)) return image.cut_off("fatbin");
  return "";
}

/// Returns the text from the first `.version` that isn't in a comment; empty if there is none.
std::string_view behind_version(std::string_view text) {
  constexpr std::string_view directive = ".version";
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "//") {
      at = text.find('\n', at);
    } else if (text.substr(at, 2) == "/*") {
      at = text.find("*/", at + 2);
    } else if (text.substr(at, directive.size()) == directive) {
      return text.substr(at + directive.size());
    } else {
      ++at;
    }
    if (at == std::string_view::npos) break;
  }
  return {};
}

}  // namespace

std::string image_problem(std::uint32_t format, const backend::ImageBytes& image) {
  return format == ANYPLACE_IMAGE_FATBIN ? fatbin_problem(image) : backend::gpu_elf_problem(image, "cubin", "CUDA");
}

int ptx_version(std::string_view text) noexcept {
  std::string_view rest = behind_version(text);
  const std::size_t begin = rest.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return 0;
  rest = rest.substr(begin);
  const auto digit = [&](std::size_t i) {
    return i < rest.size() && std::isdigit(static_cast<unsigned char>(rest[i]));
  };
  if (!digit(0) || rest.substr(1, 1) != "." || !digit(2)) return 0;
  return (rest[0] - '0') * 10 + (rest[2] - '0');
}

int cuda_version_of_ptx(int version) noexcept {
  struct Row {
    int ptx;
    int cuda;
  };
  constexpr Row rows[] = {{70, 11000}, {71, 11010}, {72, 11020}, {73, 11030}, {74, 11040}, {75, 11050}, {76, 11060},
                          {77, 11070}, {78, 11080}, {80, 12000}, {81, 12010}, {82, 12020}, {83, 12030}, {84, 12040},
                          {85, 12050}, {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000}, {91, 13010}};
  for (const Row& row : rows) {
    if (row.ptx == version) return row.cuda;
  }
  return 0;
}

}  // namespace anyplace::cuda
