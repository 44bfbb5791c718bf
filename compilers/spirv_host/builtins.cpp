// SPDX-License-Identifier: Apache-2.0
//
// Numbers are those of the SPIR-V specification 1.6, sections 2.3 (physical layout), 3.20 (decorations) and 3.42
// (instructions).
#include "builtins.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

namespace anyplace::compilers {
namespace {

using Word = std::uint32_t;

constexpr Word magic = 0x07230203;
constexpr std::size_t header_words = 5;
constexpr Word op_name = 5;
constexpr Word op_decorate = 71;
constexpr Word decoration_builtin = 11;
constexpr Word decoration_linkage = 41;
constexpr Word linkage_import = 1;

std::vector<Word> words_of(std::string_view image) {
  std::vector<Word> words(image.size() / sizeof(Word));
  std::memcpy(words.data(), image.data(), words.size() * sizeof(Word));
  if (!words.empty() && words[0] == __builtin_bswap32(magic)) {
    for (Word& word : words) word = __builtin_bswap32(word);
  }
  return words;
}

/// Adds an instruction that ends with text and `last` words.
void add(std::vector<Word>& to, Word code, std::vector<Word> words, const std::string& text,
         const std::vector<Word>& last) {
  std::vector<Word> packed(text.size() / sizeof(Word) + 1);
  std::memcpy(packed.data(), text.data(), text.size());
  words.insert(words.end(), packed.begin(), packed.end());
  words.insert(words.end(), last.begin(), last.end());
  to.push_back(static_cast<Word>(words.size() + 1) << 16 | code);
  to.insert(to.end(), words.begin(), words.end());
}

}  // namespace

std::string with_plain_builtins(std::string_view image) {
  const std::vector<Word> words = words_of(image);
  if (words.size() < header_words || words[0] != magic) return std::string(image);
  std::map<Word, Word> builtins;  // ids of variables, and their numbers
  const auto for_each = [&](const auto& visit) {
    for (std::size_t at = header_words; at < words.size();) {
      const std::size_t length = words[at] >> 16;
      if (length == 0 || length > words.size() - at) return false;
      visit(std::span(words).subspan(at, length));
      at += length;
    }
    return true;
  };
  using Instruction = std::span<const Word>;
  const auto is_builtin = [](Instruction one) {
    return (one[0] & 0xffff) == op_decorate && one.size() == 4 && one[2] == decoration_builtin;
  };
  const bool is_whole = for_each([&](Instruction one) {
    if (is_builtin(one)) builtins[one[1]] = one[3];
  });
  if (!is_whole) return std::string(image);
  std::vector<Word> made(words.begin(), words.begin() + header_words);
  for_each([&](Instruction one) {
    const Word code = one[0] & 0xffff;
    const bool names = code == op_name || (code == op_decorate && one.size() > 2 && one[2] == decoration_linkage);
    const auto known = one.size() > 1 ? builtins.find(one[1]) : builtins.end();
    if (is_builtin(one)) {
      const std::string name = "anyplace_builtin_" + std::to_string(one[3]);
      add(made, op_name, {one[1]}, name, {});
      add(made, op_decorate, {one[1], decoration_linkage}, name, {linkage_import});
    } else if (!names || known == builtins.end()) {
      made.insert(made.end(), one.begin(), one.end());
    }
  });
  return std::string(reinterpret_cast<const char*>(made.data()), made.size() * sizeof(Word));
}

}  // namespace anyplace::compilers
