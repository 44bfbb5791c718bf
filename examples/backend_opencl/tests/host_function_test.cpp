// SPDX-License-Identifier: Apache-2.0
//
// Host functions: their place in the order, their thread, and what goes wrong in them.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "support.h"

TEST_CASE("Given host functions between copies when the stream is done then each ran once and in its place") {
  const anyplace::Stream stream(device());
  const anyplace::Buffer buffer(stream, 1 << 16);
  std::vector<std::uint8_t> host(1 << 16);
  std::vector<int> seen;
  for (int i = 0; i < 50; ++i) {
    stream.memset8(buffer, static_cast<std::uint8_t>(i));
    stream.copy(host, buffer);
    stream.launch_host_func([&] { seen.push_back(host.front() == host.back() ? host.back() : -1); });
  }
  stream.synchronize();
  std::vector<int> expected;
  for (int i = 0; i < 50; ++i) expected.push_back(i);
  CHECK(seen == expected);
}

TEST_CASE("Given a host that waits for its stream when a host function runs then it runs on another thread") {
  const anyplace::Stream stream(device());
  std::thread::id ran_on;
  stream.launch_host_func([&] { ran_on = std::this_thread::get_id(); });
  stream.synchronize();
  CHECK(ran_on != std::thread::id());
  CHECK(ran_on != std::this_thread::get_id());
}

TEST_CASE("Given a host function that throws when the stream is asked then it says so once and goes on") {
  const anyplace::Stream stream(device());
  const anyplace::Buffer buffer(stream, 1024);
  stream.launch_host_func([] { throw std::runtime_error("a boat"); });
  stream.memset32(buffer, 5);
  const anyplace::Error error = error_of([&] { stream.synchronize(); });
  CHECK(error.code() == anyplace::ErrorCode::host_function_failed);
  CHECK_THAT(error.what(), Catch::Contains("a boat"));
  stream.synchronize();
  CHECK(read(stream, buffer) == std::vector<std::uint32_t>(256, 5));
}

TEST_CASE("Given a host function that calls back when it runs then it is told that it may not") {
  const anyplace::Stream stream(device());
  std::atomic<int> code{0};
  stream.launch_host_func([&] {
    try {
      stream.synchronize();
    } catch (const anyplace::Error& error) {
      code = static_cast<int>(error.code());
    }
  });
  stream.synchronize();
  CHECK(code == static_cast<int>(anyplace::ErrorCode::not_permitted));
}

TEST_CASE("Given a host function that blocks when other devices and streams work then they get on") {
  const anyplace::Stream blocked(device(0));
  const anyplace::Stream other(device(0));
  const anyplace::Stream far(device(1));
  Hold hold(blocked);
  std::atomic<bool> ran{false};
  far.launch_host_func([&] { ran = true; });
  far.synchronize();
  CHECK(ran);
  const anyplace::Buffer buffer(other, 64);
  other.memset8(buffer, 1);
  other.synchronize();
}
