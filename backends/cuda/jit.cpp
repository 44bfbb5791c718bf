// SPDX-License-Identifier: Apache-2.0
#include "jit.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "error.h"

namespace anyplace::cuda {
namespace {

/// Returns the number if the option consists of `prefix` and a number.
std::optional<unsigned> number_behind(std::string_view option, std::string_view prefix) {
  if (option.substr(0, prefix.size()) != prefix) return std::nullopt;
  option.remove_prefix(prefix.size());
  unsigned number = 0;
  const auto [end, error] = std::from_chars(option.data(), option.data() + option.size(), number);
  if (error != std::errc() || end != option.data() + option.size()) return std::nullopt;
  return number;
}

std::string trimmed(const char* text) {
  std::string all(text);
  all.erase(all.find_last_not_of(" \t\r\n") + 1);
  return all;
}

}  // namespace

JitOptions::JitOptions(const char* text) {
  add(CU_JIT_ERROR_LOG_BUFFER, errors_.data());
  add(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, errors_.size() - 1);
  add(CU_JIT_INFO_LOG_BUFFER, infos_.data());
  add(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, infos_.size() - 1);
  std::string_view rest = text == nullptr ? "" : text;
  constexpr std::string_view blanks = " \t\n";
  while (true) {
    const std::size_t begin = std::min(rest.find_first_not_of(blanks), rest.size());
    rest.remove_prefix(begin);
    if (rest.empty()) return;
    const std::size_t end = std::min(rest.find_first_of(blanks), rest.size());
    add_text(rest.substr(0, end));
    rest.remove_prefix(end);
  }
}

void JitOptions::add(CUjit_option option, void* value) {
  if (count_ == max_options) refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "too many compiler options");
  options_[count_] = option;
  values_[count_] = value;
  ++count_;
}

// The driver takes numbers in place of the pointer.
void JitOptions::add(CUjit_option option, std::size_t value) { add(option, reinterpret_cast<void*>(value)); }

void JitOptions::add_text(std::string_view option) {
  if (option == "-g" || option == "--device-debug") return add(CU_JIT_GENERATE_DEBUG_INFO, std::size_t{1});
  if (option == "-lineinfo" || option == "--generate-line-info") {
    return add(CU_JIT_GENERATE_LINE_INFO, std::size_t{1});
  }
  for (const char* prefix : {"-maxrregcount=", "--maxrregcount="}) {
    if (const auto number = number_behind(option, prefix)) return add(CU_JIT_MAX_REGISTERS, std::size_t{*number});
  }
  for (const char* prefix : {"-O", "--opt-level="}) {
    const auto number = number_behind(option, prefix);
    if (number && *number <= 4) return add(CU_JIT_OPTIMIZATION_LEVEL, std::size_t{*number});
  }
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the driver's compiler has no option " + std::string(option) +
                                               "; it has -O0 to -O4, -maxrregcount=N, -lineinfo and -g");
}

std::string JitOptions::log() const {
  std::string all = trimmed(errors_.data());
  const std::string infos = trimmed(infos_.data());
  if (!all.empty() && !infos.empty()) all += "\n";
  return all + infos;
}

}  // namespace anyplace::cuda
