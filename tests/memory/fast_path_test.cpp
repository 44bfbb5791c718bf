// SPDX-License-Identifier: Apache-2.0
// Buffers on the fast path: addresses without a pin, copies and fills with one (core/handles/slots.h). Under
// ThreadSanitizer, too.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "memory/memory_support.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/threads.h"

namespace fast_path_test {

using namespace anyplace;
using namespace memory_test;
using test::code_of;

namespace {

/// From then on the thread goes the fast path.
void warm_up(const Stream& stream) {
  const Buffer buffer(stream, 64);
  for (int i = 0; i < 2; ++i) stream.memset8(buffer, 0);
  stream.synchronize();
}

/// How many have memory.
std::int64_t buffers_of(const Device& device) { return memory_stats(device).at("allocation.all.current"); }

/// Buffers that come and go, and what they are known by.
struct Passing {
  std::mutex mutex;  // guards view and address
  BufferView view;
  std::uint64_t address = 0;
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  std::atomic<int> refusals{0};

  void ask() {
    BufferView asked;
    std::uint64_t expected = 0;
    {
      const std::lock_guard lock(mutex);
      asked = view;
      expected = address;
    }
    std::uint64_t said = 0;
    const ErrorCode code = code_of([&] { said = asked.address(); });
    if (code == ErrorCode::invalid_handle) {
      ++refusals;
    } else if (code != ErrorCode::ok || said != expected) {
      ++wrong;
    }
  }
};

}  // namespace

TEST_CASE("The address of a buffer that is destroyed meanwhile is its own or its handle is invalid") {
  const Stream stream(Device("cpu_sim:0"));
  Passing passing;
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      warm_up(stream);
      ++ready;
      while (!passing.over) passing.ask();
    });
  }
  while (ready < 3) std::this_thread::yield();
  // Of two sizes in turn, so that what takes a slot over is somewhere else than what was there.
  std::array<Buffer, 3> living;
  for (std::size_t round = 0; round < 3000; ++round) {
    Buffer& next = living[round % living.size()];
    next = Buffer();
    next = Buffer(stream, round % 2 == 0 ? 512 : 70000);
    const std::lock_guard lock(passing.mutex);
    passing.view = next;
    passing.address = next.address();
  }
  // Whoever asks from now on is refused.
  living = {};
  const int before = passing.refusals;
  while (passing.refusals < before + 10) std::this_thread::yield();
  passing.over = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(passing.wrong == 0);
}

TEST_CASE("Threads that copy from one buffer at once all get its bytes") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  constexpr std::uint64_t bytes = 256;
  Buffer source(stream, bytes);
  stream.memset8(source, 7);
  stream.synchronize();
  std::atomic<int> wrong{0};
  test::on_threads(4, [&](int) {
    const Stream own(device);
    const Buffer target(own, bytes);
    for (int round = 0; round < 300; ++round) {
      Bytes back(bytes, 1);
      own.copy(target, source);
      own.copy(back, target);
      own.synchronize();
      if (back != Bytes(bytes, 7)) ++wrong;
      own.copy(back, source);
      own.synchronize();
      if (back != Bytes(bytes, 7)) ++wrong;
    }
  });
  CHECK(wrong == 0);
  // No pin was left behind.
  const BufferView view = source;
  const std::int64_t in_use = buffers_of(device);
  source = Buffer();
  CHECK(buffers_of(device) == in_use - 1);
  refused(ErrorCode::invalid_handle, [&] { stream.memset8(view, 1); });
}

TEST_CASE("A copy or fill on the fast path that is refused leaves no pin on its buffers") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  warm_up(stream);
  Buffer one(stream, 64), other(stream, 64);
  Bytes host(32);
  for (int i = 0; i < 3; ++i) {
    refused(ErrorCode::invalid_argument, [&] { stream.copy(one, host); });
    refused(ErrorCode::invalid_argument, [&] { stream.copy(host, one); });
    refused(ErrorCode::invalid_argument, [&] { stream.copy(one, other.sub(0, 32)); });
    refused(ErrorCode::invalid_argument, [&] { stream.copy(one.sub(0, 32), one.sub(16, 32)); });
    refused(ErrorCode::invalid_argument, [&] { stream.copy_2d(one, 4, other, 8, 8, 4); });
    refused(ErrorCode::invalid_argument, [&] { stream.memset32(one.sub(2, 8), 1); });
    refused(ErrorCode::invalid_handle, [&] { StreamView().memset8(one, 1); });
    refused(ErrorCode::invalid_handle, [&] { stream.copy(one, BufferView(other.id() ^ 64, 0, 64)); });
  }
  const std::int64_t in_use = buffers_of(device);
  one = Buffer();
  other = Buffer();
  CHECK(buffers_of(device) == in_use - 2);
}

TEST_CASE("Made-up handles of buffers are invalid on the fast path") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  warm_up(stream);
  const Buffer good(stream, 64);
  Bytes host(8);
  std::vector<std::uint64_t> bad{~std::uint64_t{0}, stream.id()};
  for (unsigned bit = 0; bit < 64; ++bit) {
    bad.push_back(std::uint64_t{1} << bit);
    bad.push_back(good.id() ^ std::uint64_t{1} << bit);
  }
  for (const std::uint64_t id : bad) {
    INFO(id);
    const BufferView view(id, 0, 8);
    REQUIRE(code_of([&] { static_cast<void>(view.address()); }) == ErrorCode::invalid_handle);
    REQUIRE(code_of([&] { stream.memset8(view, 1); }) == ErrorCode::invalid_handle);
    REQUIRE(code_of([&] { stream.copy(host, view); }) == ErrorCode::invalid_handle);
    REQUIRE(code_of([&] { stream.copy(good.sub(0, 8), view); }) == ErrorCode::invalid_handle);
  }
  REQUIRE(BufferView().address() == 0);
  REQUIRE(code_of([&] { static_cast<void>(BufferView(good.id(), 60, 8).address()); }) == ErrorCode::invalid_argument);
  REQUIRE(code_of([&] { static_cast<void>(BufferView(good.id(), ~0ull, 2).address()); }) ==
          ErrorCode::invalid_argument);
}

TEST_CASE("More buffers than the fast path knows all have their own memory") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  warm_up(stream);
  constexpr std::size_t count = 17000;
  std::vector<Buffer> buffers;
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = 0; i < count; ++i) {
    buffers.emplace_back(stream, 4);
    addresses.push_back(buffers.back().address());
    stream.memset32(buffers.back(), static_cast<std::uint32_t>(i));
  }
  std::uint32_t first = 0, last = 0;
  stream.copy(HostSpan(&first, 4), buffers.front());
  stream.copy(HostSpan(&last, 4), buffers.back());
  stream.synchronize();
  CHECK(first == 0);
  CHECK(last == count - 1);
  std::sort(addresses.begin(), addresses.end());
  CHECK(std::adjacent_find(addresses.begin(), addresses.end()) == addresses.end());
}

TEST_CASE("In a forked child a buffer's address is not told") {
  const Stream stream(Device("cpu_sim:0"));
  warm_up(stream);
  const Buffer buffer(stream, 64);
  REQUIRE(buffer.address() != 0);
  const test::Ended result = test::in_child(
      [&] { return code_of([&] { static_cast<void>(buffer.address()); }) == ErrorCode::forked ? 0 : 1; });
  INFO(result.out);
  REQUIRE_FALSE(result.hung);
  REQUIRE(result.status == 0);
}

TEST_CASE("In a host function a buffer's address is not told") {
  const Stream stream(Device("cpu_sim:0"));
  warm_up(stream);
  const Buffer buffer(stream, 64);
  std::atomic<ErrorCode> said{ErrorCode::ok};
  stream.launch_host_func([&] { said = code_of([&] { static_cast<void>(buffer.address()); }); });
  stream.synchronize();
  CHECK(said == ErrorCode::not_permitted);
}

}  // namespace fast_path_test
