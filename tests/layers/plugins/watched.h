// SPDX-License-Identifier: Apache-2.0
// What the layers `outer` and `inner` saw, in one list: the test says by a variable where it is.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace test {

struct Watched {
  static constexpr const char* variable = "WATCHED";

  std::mutex mutex;  // guards lines
  std::vector<std::string> lines;

  /// Makes the layers write here. It has to live as long as they.
  void publish() { ::setenv(variable, std::to_string(reinterpret_cast<std::uintptr_t>(this)).c_str(), 1); }
  /// What the test published; null without one.
  static Watched* published() {
    const char* const address = std::getenv(variable);
    return address == nullptr ? nullptr : reinterpret_cast<Watched*>(std::strtoull(address, nullptr, 10));
  }
  void add(const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  }
  std::vector<std::string> taken() {
    const std::lock_guard lock(mutex);
    return std::exchange(lines, {});
  }
};

}  // namespace test
