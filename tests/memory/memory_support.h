// SPDX-License-Identifier: Apache-2.0
// What the tests of memory and kernels share.
#pragma once

#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/plugins/controls.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace memory_test {

using anyplace::ErrorCode;
using Bytes = std::vector<std::uint8_t>;

/// What `call` throws, which must be an Error.
inline anyplace::Error error_of(test::CallRef call) { return test::required_error(call); }

/// Requires that `call` throws an Error of that code, and returns its text.
inline std::string refused(ErrorCode code, test::CallRef call) {
  const anyplace::Error error = test::required_error(call);
  INFO(error.what());
  REQUIRE(anyplace::to_string(error.code()) == std::string_view(anyplace::to_string(code)));
  return error.text();
}

/// Holds a stream back until open() is called or the gate goes. Work submitted later stays pending.
struct HostGate : test::HostGate {
  explicit HostGate(const anyplace::StreamView& stream) { block(stream); }
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
  Bytes bytes(view.size_bytes());
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
  std::vector<std::string> all() const {
    std::vector<std::string> texts;
    for (const anyplace::Error& error : reports_.all()) texts.emplace_back(error.what());
    return texts;
  }

 private:
  test::Reports reports_;
};

}  // namespace memory_test
