// SPDX-License-Identifier: Apache-2.0
// Pressure callbacks: when they are called, in which order, and what they may do.
#include <atomic>
#include <thread>

#include "memory/memory_support.h"
#include "support/environment.h"

namespace pressure_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mib = 1024 * 1024;

/// A device with 64 MiB.
Device small_device() {
  test::set_env("ANYPLACE_CPU_SIM_MEMORY", "64MiB");
  return Device("cpu_sim:0");
}

}  // namespace

TEST_CASE("A callback that frees a buffer makes the allocation succeed") {
  const Device device = small_device();
  const Stream stream(device);
  auto kept = std::make_unique<Buffer>(stream, 48 * mib);
  int calls = 0;
  std::uint64_t asked = 0;
  const PressureRegistration registration(device, [&](const Device& from, std::uint64_t bytes) {
    ++calls;
    asked = bytes;
    CHECK(from == device);
    kept.reset();
    return true;
  });
  const Buffer fits(stream, 8 * mib);
  CHECK(calls == 0);  // nothing was short
  const Buffer buffer(stream, 40 * mib);
  CHECK(calls == 1);
  CHECK(asked == 40 * mib);
  CHECK_FALSE(kept);
}

TEST_CASE("Cached memory goes before callbacks are bothered") {
  const Device device = small_device();
  const Stream stream(device);
  const Stream other(device);
  int calls = 0;
  const PressureRegistration registration(device, [&](auto&&...) { return ++calls != 0; });
  { const Buffer cached(other, 48 * mib); }
  const Buffer buffer(stream, 48 * mib);
  CHECK(calls == 0);
}

TEST_CASE("Callbacks are called in the order of their registration until one has freed enough") {
  const Device device = small_device();
  const Stream stream(device);
  auto kept = std::make_unique<Buffer>(stream, 48 * mib);
  std::string order;
  std::vector<PressureRegistration> registrations;
  const auto add = [&](char name, bool frees) {
    registrations.emplace_back(device, [&order, &kept, name, frees](auto&&...) {
      order += name;
      if (frees) kept.reset();
      return frees;
    });
  };
  add('a', false);
  add('b', false);
  add('c', true);
  add('d', true);
  registrations.erase(registrations.begin());
  { const Buffer buffer(stream, 40 * mib); }
  CHECK(order == "bc");
  order.clear();
  refused(ErrorCode::out_of_memory, [&] { const Buffer buffer(stream, 65 * mib); });
  // A size that the device hasn't got at all is nobody's fault: whether they are asked is left open, the order isn't.
  CHECK((order == "bcd" || order.empty()));
}

TEST_CASE("When no callback helps the figures are told") {
  const Device device = small_device();
  const Stream stream(device);
  const Buffer kept(stream, 48 * mib);
  int calls = 0;
  const PressureRegistration first(device, [&](auto&&...) { return ++calls == 0; });
  const PressureRegistration second(device, [&](auto&&...) { return ++calls != 0; });  // says so, and it isn't so
  const Error error = error_of([&] { const Buffer buffer(stream, 32 * mib); });
  CHECK(error.code() == ErrorCode::out_of_memory);
  REQUIRE(error.memory().has_value());
  CHECK(error.memory()->requested == 32 * mib);
  CHECK(error.memory()->in_use == 48 * mib);
  CHECK(error.memory()->limit == 64 * mib);
  CHECK(calls == 2);
}

TEST_CASE("A callback is called no more once its registration is over") {
  const Device device = small_device();
  const Stream stream(device);
  const Buffer kept(stream, 48 * mib);
  int calls = 0;
  const auto fail = [&] { refused(ErrorCode::out_of_memory, [&] { const Buffer buffer(stream, 32 * mib); }); };
  {
    PressureRegistration registration(device, [&](auto&&...) { return ++calls == 0; });
    fail();
    CHECK(calls == 1);
    PressureRegistration moved(std::move(registration));
    registration = PressureRegistration();  // NOLINT: the moved-from state is promised
    fail();
    CHECK(calls == 2);
    PressureRegistration other(device, [&](auto&&...) { return false; });
    other = std::move(moved);
    fail();
    CHECK(calls == 3);
    PressureRegistration& same = other;
    other = std::move(same);
    fail();
    CHECK(calls == 4);
  }
  fail();
  CHECK(calls == 4);
}

TEST_CASE("A callback may end its own registration and those of others") {
  const Device device = small_device();
  const Stream stream(device);
  const Buffer kept(stream, 48 * mib);
  std::string order;
  PressureRegistration first, second;
  first = PressureRegistration(device, [&](auto&&...) {
    order += 'a';
    first = PressureRegistration();
    second = PressureRegistration();
    return false;
  });
  second = PressureRegistration(device, [&](auto&&...) {
    order += 'b';
    return false;
  });
  for (int i = 0; i < 2; ++i) refused(ErrorCode::out_of_memory, [&] { const Buffer buffer(stream, 32 * mib); });
  CHECK(order == "a");
}

TEST_CASE("A callback may not allocate from its device, and may pin host memory and use others") {
  test::set_env("ANYPLACE_CPU_SIM_DEVICES", "2");
  const Device device = small_device();
  const Device second("cpu_sim:1");
  const Stream stream(device);
  const Stream elsewhere(second);
  auto kept = std::make_unique<Buffer>(upload(stream, pattern(48 * mib)));
  std::optional<ErrorCode> code;
  std::optional<Buffer> spilled;
  std::optional<HostBuffer> host;
  const PressureRegistration registration(device, [&](auto&&...) {
    try {
      const Buffer buffer(stream, 100 * 1000);
    } catch (const Error& error) {
      code = error.code();
    }
    // What such a callback is for: to put what is there somewhere else.
    spilled.emplace(elsewhere, 48 * mib);
    host.emplace(device, 1000);
    elsewhere.copy(*spilled, *kept);
    elsewhere.synchronize();
    kept.reset();
    return true;
  });
  const Buffer buffer(stream, 40 * mib);
  CHECK(code == ErrorCode::not_permitted);
  CHECK(download(elsewhere, *spilled) == pattern(48 * mib));
}

TEST_CASE("A callback that throws counts as no help and is told to the error handler") {
  const CaughtReports reports;
  const Device device = small_device();
  const Stream stream(device);
  auto kept = std::make_unique<Buffer>(stream, 48 * mib);
  const PressureRegistration first(device, [](auto&&...) -> bool { throw std::runtime_error("spill failed"); });
  const PressureRegistration second(device, [&](auto&&...) {
    kept.reset();
    return true;
  });
  CHECK_NOTHROW(Buffer(stream, 40 * mib));
  REQUIRE(reports.all().size() == 1);
  CHECK_THAT(reports.all().front(), Catch::Contains("cpu_sim:0") && Catch::Contains("spill failed"));
}

TEST_CASE("An empty callback is refused and a null registration is nothing") {
  const Device device("cpu_sim:0");
  refused(ErrorCode::invalid_argument, [&] { const PressureRegistration registration(device, nullptr); });
  PressureRegistration none;
  PressureRegistration other(std::move(none));
  none = std::move(other);
  SUCCEED();
}

TEST_CASE("When a registration's end returns its callback isn't running") {
  const Device device = small_device();
  const Stream stream(device);
  const Buffer kept(stream, 48 * mib);
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> entered{false};
    std::atomic<bool> inside{false};
    std::promise<void> go_on;
    auto registration = std::make_unique<PressureRegistration>(device, [&](auto&&...) {
      inside = true;
      entered = true;
      go_on.get_future().wait();
      inside = false;
      return false;
    });
    std::atomic<bool> out_of_memory{false};
    std::thread allocating([&] {
      const Stream own(device);
      try {
        const Buffer buffer(own, 32 * mib);
      } catch (const Error& error) {
        out_of_memory = error.code() == ErrorCode::out_of_memory;
      }
    });
    while (!entered) std::this_thread::yield();
    std::thread opening([&] { go_on.set_value(); });
    registration.reset();
    CHECK_FALSE(inside);
    allocating.join();
    opening.join();
    CHECK(out_of_memory);
  }
}

TEST_CASE("Allocators under pressure reach callbacks as Buffers do") {
  const Device device = small_device();
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  std::uint64_t kept = allocator->allocate(stream, 48 * mib);
  const PressureRegistration registration(device, [&](auto&&...) {
    if (kept == 0) return false;
    allocator->deallocate(stream, std::exchange(kept, 0), 48 * mib);
    return true;
  });
  const std::uint64_t address = allocator->allocate(stream, 40 * mib);
  CHECK(kept == 0);
  allocator->deallocate(stream, address, 40 * mib);
}

}  // namespace pressure_test
