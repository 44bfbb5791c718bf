// SPDX-License-Identifier: Apache-2.0
//
// What the tests of all doubles of streams share.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <functional>
#include <future>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "double_control.hpp"
#include "support/process.h"
#include "support/environment.h"
#include "support/temp_dir.h"

namespace test {

/// The bytes of a file; the case ends if there are none.
inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// What a host function waits for. Never freed: a host function may outlive the test's gate, and one of a device that
/// failed is never called.
class Latch {
 public:
  static Latch& make() {
    static auto& all = *new std::vector<std::unique_ptr<Latch>>;
    return *all.emplace_back(std::make_unique<Latch>());
  }
  /// A host function for a stream, whose `user` is the latch.
  static void pass(void* user) { static_cast<Latch*>(user)->opened_.get_future().wait(); }
  void open() {
    if (!open_) opened_.set_value();
    open_ = true;
  }

 private:
  std::promise<void> opened_;
  bool open_ = false;
};

/// Keeps streams waiting until the test lets them go. How it gets into a stream is the vendor's. One for a stream at a
/// time of each device: host functions of a device run one after the other.
class AnyGate {
 public:
  AnyGate() = default;
  AnyGate(const AnyGate&) = delete;  // streams wait on it
  AnyGate& operator=(const AnyGate&) = delete;
  ~AnyGate() { open(); }
  void open() { latch_.open(); }

 protected:
  Latch& latch_ = Latch::make();
};

/// Each of these kinds is alive once.
inline void check_one_of_each(const anyplace::doubles::Control& control, const std::vector<const char*>& kinds) {
  for (const char* const kind : kinds) {
    INFO(kind);
    CHECK(control.live(kind) == 1);
  }
}

/// Each of these calls gave that code.
template <class Result>
void each_gives(Result code, std::initializer_list<Result> calls, int line = __builtin_LINE()) {
  int number = 0;
  for (const Result call : calls) {
    INFO("call " << ++number << " of those in line " << line);
    CHECK(call == code);
  }
}

/// A host function that runs `user`, a std::function<void()>.
inline void run_function(void* user) { (*static_cast<std::function<void()>*>(user))(); }

}  // namespace test
