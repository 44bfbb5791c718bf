// SPDX-License-Identifier: Apache-2.0
// What the tests of memory and kernels share.
#pragma once

#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/plugins/controls.h"

namespace memory_test {

using anyplace::ErrorCode;
using Bytes = std::vector<std::uint8_t>;

/// The Error that `call` throws. Fails the test if it throws none.
template <class Call>
anyplace::Error error_of(Call&& call) {
  try {
    call();
  } catch (const anyplace::Error& error) {
    return error;
  }
  FAIL("the call threw nothing");
  throw 0;  // FAIL does
}

/// Requires that `call` throws an Error of that code, and returns its text.
template <class Call>
std::string refused(ErrorCode code, Call&& call) {
  const anyplace::Error error = error_of(std::forward<Call>(call));
  INFO(error.what());
  REQUIRE(anyplace::to_string(error.code()) == std::string_view(anyplace::to_string(code)));
  return error.text();
}

/// Holds a stream back at a host function until open() is called or the gate goes. Work submitted later stays pending.
class HostGate {
 public:
  explicit HostGate(const anyplace::StreamView& stream) {
    stream.launch_host_func([opened = std::shared_future<void>(open_.get_future())] { opened.wait(); });
  }
  HostGate(const HostGate&) = delete;  // opened once
  HostGate& operator=(const HostGate&) = delete;
  ~HostGate() { open(); }
  void open() {
    if (!std::exchange(is_open_, true)) open_.set_value();
  }

 private:
  std::promise<void> open_;
  bool is_open_ = false;
};

/// Buffers are the backend's own allocations, for cases that look at what the backend is asked for. Before the first
/// use of a backend.
inline void without_cache() { REQUIRE(setenv("ANYPLACE_ALLOCATOR", "caching:false", 1) == 0); }

/// Bytes that differ from place to place and from seed to seed.
inline Bytes pattern(std::size_t count, std::uint32_t seed = 1) {
  Bytes bytes(count);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return bytes;
}

/// A buffer on `stream` with those bytes, which are there when this returns.
inline anyplace::Buffer upload(const anyplace::StreamView& stream, const Bytes& bytes) {
  anyplace::Buffer buffer(stream, bytes.size());
  stream.copy(buffer, bytes);
  stream.synchronize();
  return buffer;
}

/// What is in the view when everything submitted to `stream` is done.
inline Bytes download(const anyplace::StreamView& stream, anyplace::BufferView view) {
  Bytes bytes(view.bytes());
  stream.copy(bytes, view);
  stream.synchronize();
  return bytes;
}

/// Of a forwarding backend.
inline Controls& controls_of(const anyplace::Device& device) {
  return *reinterpret_cast<Controls*>(static_cast<std::uintptr_t>(device.native_context()));
}

/// Collects what destructors and background threads report, instead of standard error.
class CaughtReports {
 public:
  CaughtReports() {
    before_ = anyplace::set_error_handler([texts = texts_](const anyplace::Error& error) {
      const std::lock_guard lock(texts->mutex);
      texts->all.emplace_back(error.what());
    });
  }
  CaughtReports(const CaughtReports&) = delete;  // one handler for the process
  CaughtReports& operator=(const CaughtReports&) = delete;
  ~CaughtReports() { anyplace::set_error_handler(before_); }

  std::vector<std::string> all() const {
    const std::lock_guard lock(texts_->mutex);
    return texts_->all;
  }

 private:
  struct Texts {
    std::mutex mutex;  // guards all
    std::vector<std::string> all;
  };
  std::shared_ptr<Texts> texts_ = std::make_shared<Texts>();
  anyplace::ErrorHandler before_;
};

}  // namespace memory_test
