// SPDX-License-Identifier: Apache-2.0
//
// RecordedEvent, EventPool and Marker on a vendor whose queries are of the newest record, as CUDA's are.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "anyplace/backend/kit/events.h"

namespace events_test {

namespace {

/// The records of a stream are numbered, and done up to `done`.
struct Stream {
  std::atomic<int> recorded{0};
  std::atomic<int> done{0};
};

struct Device {
  bool is_lost = false;
  bool lost() const { return is_lost; }

  std::mutex mutex;
  int made = 0;
  std::map<int, int> events;  ///< those that live, and the number of the newest record of each; 0: never recorded
  Stream* stream = nullptr;
  int fail_after = -1;                  ///< so many more are made
  std::function<void()> before_record;  ///< called by each
};

Device* device_in_use = nullptr;

struct Vendor {
  using Device = events_test::Device;
  using Stream = events_test::Stream;
  using Native = int;
  using Result = int;

  static int make(Device& device, std::uint32_t) {
    const std::lock_guard lock(device.mutex);
    if (device.fail_after-- == 0) throw std::runtime_error("no more events");
    device.events[++device.made] = 0;
    return device.made;
  }
  static int end(Device& device, int event) noexcept {
    const std::lock_guard lock(device.mutex);
    return device.events.erase(event) == 1 ? 0 : 1;
  }
  static void check_end(Device&, int result) { CHECK(result == 0); }
  static int ask(int event) {
    const std::lock_guard lock(device_in_use->mutex);
    return device_in_use->events.at(event) <= device_in_use->stream->done ? 0 : 1;
  }
  static bool answer(Device&, int, int result) { return result == 0; }
  static void wait(Device&, int event) {
    while (ask(event) != 0) std::this_thread::yield();
  }
  static void record(const Stream& stream, int event) {
    if (const auto before = device_in_use->before_record) before();
    const std::lock_guard lock(device_in_use->mutex);
    device_in_use->events.at(event) = ++const_cast<Stream&>(stream).recorded;
  }
};

using Event = anyplace::backend::RecordedEvent<Vendor>;
using Pool = anyplace::backend::EventPool<Vendor>;
using Marker = anyplace::backend::Marker<Vendor>;

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t long_time = 3600 * 1000 * millisecond;

struct Fixture {
  Fixture() {
    device.stream = &stream;
    device_in_use = &device;
  }
  Device device;
  Stream stream;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "An event that was never recorded is complete") {
  Event event(device, 0);
  CHECK(event.query());
  CHECK(event.synchronize(0));
  CHECK(event.synchronize(ANYPLACE_FOREVER));
  event.destroy();
  CHECK(device.events.empty());
}

TEST_CASE_METHOD(Fixture, "A wait with a limit runs out of time and leaves the event as it is") {
  Event event(device, 0);
  event.record(stream);
  const int native = event.native();
  CHECK_FALSE(event.synchronize(0));
  CHECK_FALSE(event.synchronize(millisecond));
  event.record(stream);
  CHECK(event.native() == native);
  CHECK(device.made == 1);
  stream.done = 2;
  CHECK(event.synchronize(millisecond));
}

TEST_CASE_METHOD(Fixture, "A wait with a limit is for the record at the call though others come") {
  Event event(device, 0);
  event.record(stream);
  bool got_through = false;
  std::thread waiter([&] { got_through = event.synchronize(long_time); });
  // Recorded until a record goes elsewhere: then the wait has begun, for a record that is done below.
  while (device.made == 1) event.record(stream);
  const int newest = stream.recorded;
  stream.done = newest - 1;
  waiter.join();
  CHECK(got_through);
  CHECK_FALSE(event.query());
  stream.done = newest;
  CHECK(event.query());
  event.destroy();
  CHECK(device.events.empty());
}

TEST_CASE_METHOD(Fixture, "What was handed out is what records go to from then on") {
  Event event(device, 0);
  event.record(stream);
  const int native = event.hand_out();
  std::atomic<int> waits{0};
  std::thread waiter([&] {
    while (waits < 20) {
      if (!event.synchronize(millisecond / 10)) ++waits;
    }
  });
  while (waits < 20) {
    event.record(stream);
    CHECK(event.native() == native);
  }
  waiter.join();
  CHECK(device.made == 1);
}

TEST_CASE_METHOD(Fixture, "A record that a wait and another record overtake still counts as the newer one") {
  Event event(device, 0);
  event.record(stream);
  std::thread waiter;
  device.before_record = [&] {
    device.before_record = nullptr;
    waiter = std::thread([&] { event.synchronize(long_time); });
    std::thread([&] {
      while (device.made == 1) event.record(stream);
    }).join();
  };
  event.record(stream);
  stream.done = stream.recorded - 1;
  CHECK_FALSE(event.query());
  stream.done = stream.recorded.load();
  CHECK(event.query());
  waiter.join();
}

TEST_CASE_METHOD(Fixture, "What is handed out during a record elsewhere stays the event's") {
  Event event(device, 0);
  event.record(stream);
  std::thread waiter([&] { event.synchronize(long_time); });
  while (device.made == 1) event.record(stream);  // from now on records go elsewhere
  int native = 0;
  std::thread second([&] { event.synchronize(long_time); });
  device.before_record = [&] {
    if (device.made == 3) native = event.hand_out();  // this record goes elsewhere
  };
  while (device.made == 2) event.record(stream);
  device.before_record = nullptr;
  CHECK(event.native() == native);
  stream.done = stream.recorded - 1;
  CHECK_FALSE(event.query());
  stream.done = stream.recorded.load();
  CHECK(event.query());
  waiter.join();
  second.join();
}

TEST_CASE_METHOD(Fixture, "Where no other event can be made the record fails and the event stays usable") {
  Event event(device, 0);
  device.fail_after = 0;
  event.record(stream);
  std::atomic<bool> waited{false};
  std::thread waiter([&] { waited = event.synchronize(long_time); });
  bool failed = false;
  while (!failed) {
    try {
      event.record(stream);
    } catch (const std::runtime_error&) {
      failed = true;
    }
  }
  CHECK_FALSE(event.query());
  stream.done = stream.recorded.load();
  waiter.join();
  CHECK(waited);
  CHECK(event.query());
  event.record(stream);
  CHECK_FALSE(event.query());
}

TEST_CASE_METHOD(Fixture, "Of a lost device nothing is given back") {
  {
    Event event(device, 0);
    device.is_lost = true;
    event.destroy();
  }
  CHECK(device.events.size() == 1);
}

TEST_CASE_METHOD(Fixture, "A marker gives its event back and the pool makes no more than are in use at once") {
  Pool pool(device);
  for (int i = 0; i < 10; ++i) {
    const Marker one(device, pool, pool.take());
    const Marker other(device, pool, pool.take());
    Vendor::record(stream, one.event());
    CHECK_FALSE(one.is_over());
    CHECK(other.event() != one.event());
    stream.done = stream.recorded.load();
    CHECK(one.is_over());
  }
  CHECK(device.made == 2);
  CHECK(pool.close() == 0);
  CHECK(device.events.empty());
}

}  // namespace events_test
