// SPDX-License-Identifier: Apache-2.0
//
// Many threads on one stream, or one event, or one list. What the backend submits in several commands belongs together:
// no other thread's come in between.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "support.h"
#include "support/threads.h"

namespace threads_test {

namespace {

using namespace levelzero_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Event;
using anyplace::Stream;
using anyplace::StreamView;
using Numbers = std::vector<std::uint32_t>;

constexpr std::uint32_t threads_at_once = 8;
constexpr std::uint32_t rounds = 4;
/// While a copy is appended the others queue up for the stream, so that one of them is next.
constexpr std::pair<const char*, const char*> slow_copies{
    "LEVELZERO_DOUBLE_SLOW", "zeCommandListAppendMemoryCopy:zeCommandListAppendMemoryCopyRegion"};
constexpr std::uint64_t numbers = 256, bytes = numbers * sizeof(std::uint32_t);

/// How many numbers weren't what their thread had sent. `way` sends `value` through the buffer, and back.
std::uint64_t wrong_of_all_threads(const StreamView& stream,
                                   const std::function<void(const Buffer&, std::uint32_t value, Numbers& back)>& way) {
  std::atomic<std::uint64_t> wrong{0};
  test::on_threads(threads_at_once, [&](std::uint32_t thread) {
    const Buffer buffer(stream, 2 * bytes);  // room for lines that lie apart
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint32_t value = (thread + 1) * 0x01020305 + round * 0x10000;
      Numbers back(numbers);
      way(buffer, value, back);
      wrong += static_cast<std::uint64_t>(
          std::count_if(back.begin(), back.end(), [value](std::uint32_t number) { return number != value; }));
    }
  });
  return wrong;
}

/// As another library in the process makes one.
void* make_list(const Device& device) {
  struct {
    std::uint32_t stype = 0x0e;  // ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC
    const void* next = nullptr;
    std::uint32_t ordinal = 2, index = 0, flags = 0, mode = 2, priority = 0;
  } desc;
  void* list = nullptr;
  using Create = int(std::uint64_t, std::uint64_t, const void*, void**);
  void* const library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  const auto create = reinterpret_cast<Create*>(dlsym(library, "zeCommandListCreateImmediate"));
  REQUIRE(create(device.native_context(), device.native_handle(), &desc, &list) == 0);
  return list;
}

}  // namespace

TEST_CASE("Threads that copy memory of their own on one stream each get their own bytes") {
  const Double ze({slow_copies});
  const Device device("levelzero:0");
  const StreamView stream = device.default_stream();
  CHECK(wrong_of_all_threads(stream, [&](const Buffer& buffer, std::uint32_t value, Numbers& back) {
          const Numbers sent(numbers, value);
          stream.copy(buffer.sub(0, bytes), sent);
          stream.copy(back, buffer.sub(0, bytes));
          stream.synchronize();
        }) == 0);
}

TEST_CASE("Threads that copy lines of their own memory on one stream each get their own bytes") {
  const Double ze({slow_copies});
  const Device device("levelzero:0");
  const StreamView stream = device.default_stream();
  CHECK(wrong_of_all_threads(stream, [&](const Buffer& buffer, std::uint32_t value, Numbers& back) {
          const Numbers sent(numbers, value);
          stream.copy_2d(buffer, 128, sent, 64, 64, 16);
          stream.copy_2d(back, 64, buffer, 128, 64, 16);
          stream.synchronize();
        }) == 0);
}

TEST_CASE("Threads that fill by copies on one stream each get their own pattern") {
  const Double ze({slow_copies, {"LEVELZERO_DOUBLE_FILL_PATTERN", "1"}});
  const Device device("levelzero:0");
  const StreamView stream = device.default_stream();
  CHECK(wrong_of_all_threads(stream, [&](const Buffer& buffer, std::uint32_t value, Numbers& back) {
          stream.memset32(buffer, value);
          stream.copy(back, buffer.sub(0, bytes));
          stream.synchronize();
        }) == 0);
}

TEST_CASE("An event that two threads record covers what either had submitted before") {
  const Double ze;
  const Device device("levelzero:0");
  const Stream stream(device);
  const Buffer buffer(stream, 4096);
  const Event event(device);
  constexpr int tries = 400;
  int too_early = 0;
  for (int i = 0; i < tries; ++i) {
    stream.synchronize();
    REQUIRE(ze.hold(0, true));
    std::atomic<bool> recorded{false};
    test::on_threads(2, [&](std::uint32_t thread) {
      if (thread == 0) {
        while (!recorded.load()) event.record(stream);
      } else {
        stream.memset32(buffer, 1);
        event.record(stream);
        recorded.store(true);
      }
    });
    if (event.query()) ++too_early;
    REQUIRE(ze.hold(0, false));
  }
  stream.synchronize();
  CHECK(too_early == 0);
}

TEST_CASE("Threads that wrap one list at the same time have one stream") {
  const Double ze;
  const Device device("levelzero:0");
  const Stream made(device);
  constexpr int tries = 40;
  for (int i = 0; i < tries; ++i) {
    void* const list = make_list(device);
    std::atomic<std::uint32_t> ready{0};
    test::on_threads(threads_at_once, [&](std::uint32_t) {
      const Buffer buffer(made, 4096);
      ++ready;
      while (ready.load() != threads_at_once) std::this_thread::yield();
      const Stream wrapped = Stream::from_native(device, reinterpret_cast<std::uint64_t>(list));
      for (std::uint32_t value = 0; value < 20; ++value) wrapped.memset32(buffer, value);
      wrapped.synchronize();
    });
    using Destroy = int(void*);
    void* const library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
    device.synchronize();
    CHECK(reinterpret_cast<Destroy*>(dlsym(library, "zeCommandListDestroy"))(list) == 0);
  }
}

}  // namespace threads_test
