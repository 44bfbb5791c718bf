// SPDX-License-Identifier: Apache-2.0
//
// Streams, events and time: what is Level Zero's own about them. What every backend does the conformance suite checks.
#include <dlfcn.h>

#include <chrono>
#include <memory>
#include <vector>

#include "levelzero/ticks.h"
#include "support.h"

namespace stream_test {

namespace {

using namespace levelzero_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Event;
using anyplace::Stream;
using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("Properties make no context") {
  const Double ze;
  const Device device("levelzero:0");
  CHECK(device.properties().name == "Double of a GPU");
  CHECK(device.properties().pci == "0000:17:00.0");
  CHECK(device.properties().architecture == "12.55.8");
  CHECK(ze.calls_of("zeContextCreate") == 0);
  { const Stream stream(device); }
  CHECK(ze.calls_of("zeContextCreate") == 1);
}

TEST_CASE("Lists keep their order by themselves where the driver can and by signals where it can't") {
  const Double ze;
  const Stream stream(Device("levelzero:0"));
  const Buffer buffer(stream, 4096);
  stream.memset32(buffer, 1);
  stream.memset32(buffer, 2);
  Numbers back(1024);
  stream.copy(back, buffer);
  stream.synchronize();
  CHECK(back == Numbers(1024, 2));
  CHECK((ze.calls_of("zeCommandListAppendSignalEvent") == 0) == is_behind_loader);
}

TEST_CASE("ANYPLACE_LEVELZERO_IN_ORDER=0 chains commands on any driver") {
  const Double ze({{"ANYPLACE_LEVELZERO_IN_ORDER", "0"}});
  const Stream stream(Device("levelzero:0"));
  const Buffer buffer(stream, 4096);
  stream.memset32(buffer, 1);
  stream.synchronize();
  CHECK(ze.calls_of("zeCommandListAppendSignalEvent") == 0);
}

TEST_CASE("A driver that refuses the flag for order is taken without it") {
  const Double ze({{"LEVELZERO_DOUBLE_API", "1.9"}});
  if (!is_behind_loader) REQUIRE(ze.fail_nth("zeCommandListCreateImmediate", 1, 0x7800000c));  // INVALID_ENUMERATION
  const Stream stream(Device("levelzero:0"));
  stream.synchronize();
  const Stream second(Device("levelzero:0"));
  second.synchronize();
  CHECK(ze.calls_of("zeCommandListAppendSignalEvent") == 0);
}

TEST_CASE("ANYPLACE_LEVELZERO_IN_ORDER=1 insists on lists that keep their order") {
  const Double ze({{"LEVELZERO_DOUBLE_API", "1.4"}, {"ANYPLACE_LEVELZERO_IN_ORDER", "1"}});
  const anyplace::Error error = test::required_error(ErrorCode::unsupported, [] { Stream(Device("levelzero:0")); });
  CHECK_THAT(error.what(), Contains("ANYPLACE_LEVELZERO_IN_ORDER=1"));
  CHECK(error.vendor_name() == "ZE_RESULT_ERROR_INVALID_ENUMERATION");
}

TEST_CASE("Signals are used again") {
  const Double ze;
  const Stream stream(Device("levelzero:0"));
  const Buffer buffer(stream, 4096);
  stream.synchronize();
  for (int i = 0; i < 300; ++i) {
    stream.memset32(buffer, 1);
    const Event event = stream.record_event({.timing = true});
    event.synchronize();
  }
  CHECK(ze.calls_of("zeEventCreate") <= 32 + 64);
}

TEST_CASE("The pool of signals grows while many are in use") {
  const Double ze;
  const Device device("levelzero:0");
  {
    const Stream stream(device);
    const Buffer buffer(stream, 4096);
    REQUIRE(ze.hold(0, true));
    std::vector<Event> events;
    for (int i = 0; i < 500; ++i) {
      stream.memset32(buffer, 1);
      events.push_back(stream.record_event({.timing = true}));
    }
    CHECK(!events.front().query());
    CHECK(ze.calls_of("zeEventCreate") >= 500);
    REQUIRE(ze.hold(0, false));
    stream.synchronize();
    CHECK(events.front().query());
    CHECK(anyplace::elapsed_time(events.front(), events.back()) >= 0);
  }
}

TEST_CASE("Two wrappers of one list are one stream and it ends with the last of them") {
  const Double ze;
  const Device device("levelzero:0");
  auto first = std::make_unique<Stream>(device);
  const Buffer buffer(*first, 4096);
  ze.hold(0, true);
  first->memset32(buffer, 1);
  {
    const Stream second = Stream::from_native(device, first->native_handle());
    second.memset32(buffer, 2);
    first.reset();
    second.memset32(buffer, 3);
    CHECK(!second.query());
    ze.hold(0, false);
    Numbers back(1024);
    second.copy(back, buffer);
    second.synchronize();
    CHECK(back == Numbers(1024, 3));
  }
}

TEST_CASE("A list of the user's own is kept in order by barriers and is left alone") {
  const Double ze;
  const Device device("levelzero:0");
  const Stream made(device);
  const std::uint64_t lists = ze.live("stream");
  void* list = nullptr;
  {
    // As another library in the process makes one.
    struct {
      std::uint32_t stype = 0x0e;  // ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC
      const void* next = nullptr;
      std::uint32_t ordinal = 2, index = 0, flags = 0, mode = 2, priority = 0;
    } desc;
    using Create = int(std::uint64_t, std::uint64_t, const void*, void**);
    void* const library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(library != nullptr);
    const auto create = reinterpret_cast<Create*>(dlsym(library, "zeCommandListCreateImmediate"));
    REQUIRE(create(device.native_context(), device.native_handle(), &desc, &list) == 0);
  }
  const Buffer buffer(made, 1 << 20);
  made.synchronize();
  {
    const Stream wrapped = Stream::from_native(device, reinterpret_cast<std::uint64_t>(list));
    for (std::uint32_t i = 1; i <= 20; ++i) wrapped.memset32(buffer, i);
    Numbers back(1 << 18);
    wrapped.copy(back, buffer);
    wrapped.synchronize();
    CHECK(back == Numbers(1 << 18, 20));
  }
  CHECK(ze.live("stream") == lists + 1);
  using Destroy = int(void*);
  void* const library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
  CHECK(reinterpret_cast<Destroy*>(dlsym(library, "zeCommandListDestroy"))(list) == 0);
}

TEST_CASE("Numbers that are no handles are refused before the driver sees them") {
  const Double ze;
  const Device device("levelzero:0");
  for (const std::uint64_t number : {0, 1, 2, 4095}) {
    INFO(number);
    CHECK(test::code_of([&] { Stream::from_native(device, number); }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("An event that was never recorded has a native handle that is signalled") {
  const Double ze;
  const Device device("levelzero:0");
  const Event event(device);
  CHECK(event.native_handle() != 0);
  CHECK(event.query());
}

TEST_CASE("Streams destroyed with work pending end at once and their lists are used again when it is over") {
  const Double ze;
  const Device device("levelzero:0");
  const Stream last(device);
  const Buffer buffer(last, 4096);
  last.synchronize();
  const std::uint64_t before = ze.live("stream");
  ze.hold(0, true);
  {
    const Stream stream(device);
    stream.memset32(buffer, 7);
    last.wait_stream(stream);
  }
  CHECK(ze.live("stream") == before + 1);
  const Stream while_pending(device);
  CHECK(ze.live("stream") == before + 2);
  ze.hold(0, false);
  device.synchronize();
  const Stream afterwards(device);
  CHECK(ze.live("stream") == before + 2);
  CHECK(ze.calls_of("zeCommandListDestroy") == 0);
}

TEST_CASE("A stream that is destroyed while another has work pending leaves its list to the next of its priority") {
  // Intel's driver ends a list only when the hardware queue has nothing more of anybody's.
  const Double ze;
  const Device device("levelzero:0");
  const Stream busy(device);
  const Buffer buffer(busy, 4096);
  ze.hold(0, true);
  busy.memset32(buffer, 7);
  { const Stream idle(device, {-1, false}); }
  CHECK(ze.calls_of("zeCommandListDestroy") == 0);
  const std::uint64_t made = ze.calls_of("zeCommandListCreateImmediate");
  const Stream same(device, {-1, false});
  CHECK(ze.calls_of("zeCommandListCreateImmediate") == made);
  const Stream other(device, {1, false});
  CHECK(ze.calls_of("zeCommandListCreateImmediate") == made + 1);
  ze.hold(0, false);
  device.synchronize();
}

TEST_CASE("A device whose timer has no frequency has no timed events") {
  const Double ze({{"LEVELZERO_DOUBLE_TICKS", "0"}});
  const Device device("levelzero:0");
  CHECK(!device.has(anyplace::Capability::timed_events));
  CHECK(test::code_of([&] { Event(device, {.timing = true}); }) == ErrorCode::unsupported);
}

TEST_CASE("Time is measured over the place where the counter begins again") {
  using anyplace::levelzero::milliseconds_between;
  CHECK(milliseconds_between(1000, 3000, 64, 1e6) == Approx(2));
  CHECK(milliseconds_between(3000, 1000, 64, 1e6) == Approx(-2));
  CHECK(milliseconds_between((1ull << 36) - 500, 1500, 36, 1e6) == Approx(2));
  CHECK(milliseconds_between(1500, (1ull << 36) - 500, 36, 1e6) == Approx(-2));
  CHECK(milliseconds_between(0xfffffff0, 0x10, 32, 1e3) == Approx(32));
  // What the device writes above its valid bits is no part of the number.
  CHECK(milliseconds_between(0xab000000fffffff0, 0x10, 32, 1e3) == Approx(32));
  CHECK(milliseconds_between(~0ull, 1, 0, 1e3) == Approx(2));
}

TEST_CASE("A device without a queue for kernels can be asked for its properties but has no stream") {
  const Double ze({{"LEVELZERO_DOUBLE_QUEUES", "0"}});
  const Device device("levelzero:0");
  CHECK(device.properties().name == "Double of a GPU");
  const anyplace::Error error = test::required_error(ErrorCode::unsupported, [&] { Stream{device}; });
  CHECK_THAT(error.what(), Contains("no queue"));
}

TEST_CASE("Sub-devices are devices when asked for") {
  const Double ze({{"LEVELZERO_DOUBLE_SUBDEVICES", "2"}, {"ANYPLACE_LEVELZERO_SUBDEVICES", "1"}});
  CHECK(anyplace::device_count("levelzero") == 4);
  const Stream stream(Device("levelzero:3"));
  const Buffer buffer(stream, 4096);
  stream.memset32(buffer, 1);
  stream.synchronize();
}

TEST_CASE("Sub-devices are no devices unless asked for") {
  const Double ze({{"LEVELZERO_DOUBLE_SUBDEVICES", "2"}});
  CHECK(anyplace::device_count("levelzero") == 2);
}

}  // namespace stream_test
