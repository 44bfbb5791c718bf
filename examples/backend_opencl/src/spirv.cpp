// SPDX-License-Identifier: Apache-2.0
#include "spirv.h"

#include <cstdint>
#include <cstring>

namespace opencl_backend {
namespace {

using Word = std::uint32_t;

constexpr std::size_t header_words = 5;
constexpr Word magic = 0x07230203;

// Instructions, an execution model and storage classes, by their names in the specification.
constexpr Word op_entry_point = 15;
constexpr Word op_type_pointer = 32;
constexpr Word op_function = 54;
constexpr Word op_function_parameter = 55;
constexpr Word op_function_end = 56;
constexpr Word model_kernel = 6;
constexpr Word uniform_constant = 0;
constexpr Word workgroup = 4;
constexpr Word cross_workgroup = 5;

std::vector<Word> words_of(const void* image, std::size_t bytes) {
  std::vector<Word> words(bytes / sizeof(Word));
  std::memcpy(words.data(), image, words.size() * sizeof(Word));
  if (!words.empty() && words[0] != magic) {
    for (Word& word : words) word = __builtin_bswap32(word);
  }
  return words;
}

/// Text whose bytes are packed into words, the first in the lowest byte, and which ends with a zero.
std::string text_at(const Word* begin, const Word* end) {
  std::string text;
  for (; begin != end; ++begin) {
    for (int shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>(*begin >> shift & 0xff);
      if (c == '\0') return text;
      text += c;
    }
  }
  return text;
}

class Reader {
 public:
  void read(const std::vector<Word>& words) {
    std::size_t at = header_words;
    while (at < words.size()) {
      const std::size_t length = words[at] >> 16;
      if (length == 0 || length > words.size() - at) {
        fault_ = "word " + std::to_string(at) + " begins an instruction of " + std::to_string(length) +
                 " words; the image has " + std::to_string(words.size()) + " words";
        return;
      }
      instruction(words[at] & 0xffff, words.data() + at, length);
      at += length;
    }
    if (function_ != nullptr) fault_ = "its last function has no end";
  }

  /// "" if there is none.
  std::string fault() const {
    if (fault_.empty() && entry_points_.empty()) return "there is no kernel in it";
    for (const auto& [name, id] : entry_points_) {
      if (fault_.empty() && functions_.count(id) == 0) return "there is no function for its kernel " + name;
    }
    return fault_;
  }

  std::map<std::string, std::vector<Parameter>> kernels() const {
    std::map<std::string, std::vector<Parameter>> found;
    for (const auto& [name, id] : entry_points_) {
      const auto function = functions_.find(id);
      if (function != functions_.end()) found[name] = function->second;
    }
    return found;
  }

 private:
  void instruction(Word code, const Word* at, std::size_t length) {
    if (code == op_entry_point && length > 3 && at[1] == model_kernel) {
      entry_points_[text_at(at + 3, at + length)] = at[2];
    } else if (code == op_type_pointer && length == 4) {
      storage_classes_[at[1]] = at[2];
    } else if (code == op_function && length == 5) {
      function_ = &functions_[at[2]];
    } else if (code == op_function_parameter && length == 3 && function_ != nullptr) {
      function_->push_back(parameter(at[1]));
    } else if (code == op_function_end) {
      function_ = nullptr;
    }
  }

  /// A pointer to memory of the function's own is how a structure by value is written.
  Parameter parameter(Word type) const {
    const auto pointer = storage_classes_.find(type);
    if (pointer == storage_classes_.end()) return Parameter::value;
    if (pointer->second == workgroup) return Parameter::shared;
    const bool memory = pointer->second == cross_workgroup || pointer->second == uniform_constant;
    return memory ? Parameter::address : Parameter::value;
  }

  std::map<std::string, Word> entry_points_;
  std::map<Word, Word> storage_classes_;  // of pointer types
  std::map<Word, std::vector<Parameter>> functions_;
  std::vector<Parameter>* function_ = nullptr;  // the one that is being read
  std::string fault_;
};

}  // namespace

std::string spirv_fault(const void* image, std::size_t bytes) {
  if (bytes % sizeof(Word) != 0) return "it has " + std::to_string(bytes) + " bytes, which aren't whole words of 4";
  const std::vector<Word> words = words_of(image, bytes);
  if (words.size() < header_words) return "it ends within its header";
  Reader reader;
  reader.read(words);
  return reader.fault();
}

std::map<std::string, std::vector<Parameter>> spirv_kernels(const void* image, std::size_t bytes) {
  Reader reader;
  reader.read(words_of(image, bytes));
  return reader.kernels();
}

}  // namespace opencl_backend
