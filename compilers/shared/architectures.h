// SPDX-License-Identifier: Apache-2.0
// NVIDIA's names of architectures.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace anyplace::compilers {

struct NvidiaArchitecture {
  int number = 0;   ///< 90 for "sm_90a"; 0 for a name that is none
  char suffix = 0;  ///< 'a' for code of that very architecture, 'f' for that of its family; 0 for all from it on
};

inline NvidiaArchitecture nvidia_architecture(std::string_view name) {
  constexpr std::string_view before = "sm_";
  NvidiaArchitecture read;
  if (!name.starts_with(before)) return {};
  name.remove_prefix(before.size());
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f')) {
    read.suffix = name.back();
    name.remove_suffix(1);
  }
  const char* const end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data(), end, read.number);
  return error == std::errc() && stopped == end && read.number > 0 ? read : NvidiaArchitecture();
}

}  // namespace anyplace::compilers
