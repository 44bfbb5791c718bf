// SPDX-License-Identifier: Apache-2.0
//
// What several tests need: the device, a host function that waits for the test, and the code of an Error.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"

inline anyplace::Device device(int index = 0) { return anyplace::Device("opencl:" + std::to_string(index)); }

/// Holds a stream back, by a host function, from its making until it is opened.
class Hold {
 public:
  explicit Hold(anyplace::StreamView stream) {
    stream.launch_host_func([opened = opened_.get_future().share()] { opened.wait(); });
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { open(); }

  void open() {
    if (!done_) opened_.set_value();
    done_ = true;
  }

 private:
  std::promise<void> opened_;
  bool done_ = false;
};

/// The error that `body` throws; fails the test if there is none.
inline anyplace::Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const anyplace::Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  throw;  // not reached
}

inline std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first = 0) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<std::uint32_t>(i) * 2654435761u;
  return values;
}

inline std::vector<std::uint32_t> read(const anyplace::StreamView& stream, const anyplace::BufferView& from) {
  std::vector<std::uint32_t> values(from.size_bytes() / sizeof(std::uint32_t));
  stream.copy(values, from);
  stream.synchronize();
  return values;
}
