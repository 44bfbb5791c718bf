// SPDX-License-Identifier: Apache-2.0
//
// Numbers are those of the SPIR-V specification 1.6, sections 2.3 (physical layout), 3.3 (execution models), 3.7
// (storage classes), 3.31 (capabilities) and 3.42 (instructions).
#include "kernels/spirv.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace anyplace::detail {
namespace {

using SpirvWord = std::uint32_t;
using SpirvWords = std::span<const SpirvWord>;

constexpr SpirvWord magic = 0x07230203;
constexpr std::size_t header_words = 5;
constexpr SpirvWord op_entry_point = 15;
constexpr SpirvWord op_capability = 17;
constexpr SpirvWord op_type_pointer = 32;
constexpr SpirvWord op_function = 54;
constexpr SpirvWord op_function_parameter = 55;
constexpr SpirvWord model_kernel = 6;
constexpr SpirvWord storage_workgroup = 4;
constexpr SpirvWord capability_float64 = 10;

/// The image's words in this machine's byte order; none if it isn't SPIR-V 1.
std::vector<SpirvWord> words_of(std::span<const std::byte> image) {
  std::vector<SpirvWord> words(image.size() / sizeof(SpirvWord));
  if (words.size() <= header_words) return {};
  std::memcpy(words.data(), image.data(), words.size() * sizeof(SpirvWord));
  if (words[0] == __builtin_bswap32(magic)) {
    for (SpirvWord& word : words) word = __builtin_bswap32(word);
  }
  const bool version_1 = words[0] == magic && words[1] >> 16 == 1;
  return version_1 ? words : std::vector<SpirvWord>();
}

/// Text whose bytes are packed into words, the first in the lowest byte, and which ends with a zero.
std::string text_of(SpirvWords words) {
  std::string text;
  for (const SpirvWord word : words) {
    for (int shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>(word >> shift & 0xff);
      if (c == '\0') return text;
      text += c;
    }
  }
  return text;
}

/// Calls visit(words) for each instruction, up to the image's end or to what isn't one.
template <class Visit>
void for_each_instruction(std::span<const std::byte> image, Visit visit) {
  const std::vector<SpirvWord> words = words_of(image);
  for (std::size_t at = header_words; at < words.size();) {
    const std::size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at) return;
    visit(SpirvWords(words).subspan(at, length));
    at += length;
  }
}

struct Reader {
  std::vector<std::pair<std::string, SpirvWord>> kernels;  // names, and ids of their functions
  std::set<SpirvWord> shared_pointers;                     // ids of types
  std::map<SpirvWord, std::vector<SpirvWord>> functions;   // the types of their parameters
  std::vector<SpirvWord>* function = nullptr;              // the last one

  void read(SpirvWords instruction) {
    const SpirvWord code = instruction[0] & 0xffff;
    const std::size_t length = instruction.size();
    if (code == op_entry_point && length > 3 && instruction[1] == model_kernel) {
      kernels.emplace_back(text_of(instruction.subspan(3)), instruction[2]);
    } else if (code == op_type_pointer && length == 4 && instruction[2] == storage_workgroup) {
      shared_pointers.insert(instruction[1]);
    } else if (code == op_function && length == 5) {
      function = &functions[instruction[2]];
    } else if (code == op_function_parameter && length == 3 && function != nullptr) {
      function->push_back(instruction[1]);
    }
  }

  /// -1 if there is none, or more than one.
  int shared_argument(SpirvWord kernel) const {
    const auto found = functions.find(kernel);
    if (found == functions.end()) return -1;
    int index = -1;
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      if (shared_pointers.count(found->second[i]) == 0) continue;
      if (index >= 0) return -1;
      index = static_cast<int>(i);
    }
    return index;
  }
};

}  // namespace

std::vector<KernelMetadata> shared_arguments_in_spirv(std::span<const std::byte> image) {
  Reader reader;
  for_each_instruction(image, [&](SpirvWords instruction) { reader.read(instruction); });
  std::vector<KernelMetadata> found;
  for (const auto& [name, function] : reader.kernels) {
    const int index = reader.shared_argument(function);
    if (index >= 0 && !name.empty()) found.push_back({name, index});
  }
  return found;
}

bool spirv_needs_doubles(std::span<const std::byte> image) {
  bool needs = false;
  for_each_instruction(image, [&](SpirvWords instruction) {
    needs = needs || ((instruction[0] & 0xffff) == op_capability && instruction.size() == 2 &&
                      instruction[1] == capability_float64);
  });
  return needs;
}

}  // namespace anyplace::detail
