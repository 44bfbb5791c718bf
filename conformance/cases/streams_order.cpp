// SPDX-License-Identifier: Apache-2.0
// Order within a stream, overlap between streams, and priorities.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "support.h"

namespace anyplace::conformance::streams_order_cases {
namespace {

using namespace std::chrono_literals;

ANYPLACE_CASE("streams", "streams.order", "fills of one buffer happen in the order of submission") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 1 << 20));
  for (int i = 0; i < 200; ++i) CALL(stream.memset8(buffer, static_cast<std::uint8_t>(i)));
  CHECK_BYTES(read(stream, buffer), Bytes(1 << 20, 199));
}

ANYPLACE_CASE("streams", "streams.order", "a chain of copies carries what its first link held") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(3 << 20);
  std::vector<Buffer> links;
  links.push_back(upload(stream, contents));
  for (int i = 1; i < 12; ++i) links.push_back(filled(stream, contents.size(), 0));
  for (std::size_t i = 1; i < links.size(); ++i) CALL(stream.copy(links[i], links[i - 1]));
  CHECK_BYTES(read(stream, links.back()), contents);
}

ANYPLACE_CASE("streams", "streams.order", "a copy reads what was there before a later fill") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(8 << 20);
  const Buffer source = upload(stream, contents);
  const Buffer destination = filled(stream, contents.size(), 0);
  CALL(stream.copy(destination, source));
  CALL(stream.memset8(source, 0));
  CHECK_BYTES(read(stream, destination), contents);
}

ANYPLACE_CASE("streams", "streams.order", "copies to the device, fills and copies back alternate in order") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 65536));
  for (int round = 0; round < 30; ++round) {
    const Bytes up = pattern(65536, static_cast<std::uint64_t>(round) + 1);
    Bytes first(65536);
    Bytes second(65536);
    CALL(stream.copy(buffer, up));
    CALL(stream.copy(first, buffer));
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(round)));
    CALL(stream.copy(second, buffer));
    CALL(stream.synchronize());
    CHECK_BYTES(first, up);
    CHECK_BYTES(second, Bytes(65536, static_cast<std::uint8_t>(round)));
  }
}

ANYPLACE_CASE("streams", "streams.order", "nothing after a closed gate runs before it opens",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Stream free = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 4096, 1);
  gate.hold(stream);
  CALL(stream.memset8(buffer, 2));
  const Event event = CALL(stream.record_event());
  CHECK_STAYS_FALSE(stream.query() || event.query());
  CHECK_BYTES(read(free, buffer), Bytes(4096, 1));
  gate.open();
  CALL(stream.synchronize());
  CHECK(event.query());
  CHECK_BYTES(read(buffer), Bytes(4096, 2));
}

ANYPLACE_CASE("streams", "streams.order", "submitting to a stream that is held back doesn't wait",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 4096, 0);
  const Buffer source = filled(stream, 4096, 9);
  gate.hold(stream);
  for (int i = 0; i < 1000; ++i) {
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(i)));
    if (i % 100 == 0) static_cast<void>(CALL(stream.record_event()));
  }
  CALL(stream.copy(buffer, source));
  gate.open();
  CHECK_BYTES(read(stream, buffer), Bytes(4096, 9));
}

ANYPLACE_CASE("streams", "streams.order", "a blocked host function stops no copy of another stream",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  const Buffer source = upload(free, pattern(1 << 20));
  const Buffer destination = filled(free, 1 << 20, 0);
  gate.hold(held);
  gate.wait_until_held();
  CALL(free.copy(destination, source));
  CHECK(CALL(free.synchronize(1h)));
  CHECK(!held.query());
  gate.open();
  CHECK_BYTES(read(destination), pattern(1 << 20));
}

ANYPLACE_CASE("streams", "streams.order", "a blocked host function stops no fill of another stream",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  const Buffer buffer = filled(free, 4096, 1);
  gate.hold(held);
  gate.wait_until_held();
  CALL(free.memset8(buffer, 2));
  CHECK(CALL(free.synchronize(1h)));
  gate.open();
  CHECK_BYTES(read(buffer), Bytes(4096, 2));
}

ANYPLACE_CASE("streams", "streams.order", "a blocked host function stops no kernel of another stream",
              Capability::host_functions, Capability::host_kernels) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  std::atomic<int> blocks{0};
  const Kernel kernel = CALL(Kernel(device, [&](const Block&) { ++blocks; }));
  gate.hold(held);
  gate.wait_until_held();
  CALL(free.launch(kernel, {16, 1}));
  CHECK(CALL(free.synchronize(1h)));
  CHECK_EQUAL(blocks.load(), 16);
  gate.open();
}

ANYPLACE_CASE("streams", "streams.order", "a blocked host function stops nothing of another device",
              Capability::host_functions, second_device) {
  HostGate gate;
  const Stream held = CALL(Stream(run.device()));
  const Stream free = CALL(Stream(run.second()));
  const Buffer buffer = filled(free, 4096, 1);
  gate.hold(held);
  gate.wait_until_held();
  CALL(free.memset8(buffer, 2));
  bool ran = false;
  CALL(free.launch_host_func([&] { ran = true; }));
  CHECK(CALL(free.synchronize(1h)));
  CHECK(ran);
  gate.open();
  CHECK_BYTES(read(buffer), Bytes(4096, 2));
}

ANYPLACE_CASE("streams", "streams.order", "many streams of many commands each keep their own order") {
  const Device device = run.device();
  constexpr std::size_t count = 32;
  std::vector<Stream> streams;
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < count; ++i) {
    streams.push_back(CALL(Stream(device)));
    buffers.push_back(filled(streams.back(), 8192, 0));
  }
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      CALL(streams[i].memset8(buffers[i], static_cast<std::uint8_t>(round)));
      CALL(streams[i].copy(buffers[i].sub(4096, 4096), buffers[i].sub(0, 4096)));
      CALL(streams[i].memset8(buffers[i].sub(0, 4096), static_cast<std::uint8_t>(i)));
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    Bytes expected(8192, 49);
    std::fill(expected.begin(), expected.begin() + 4096, static_cast<std::uint8_t>(i));
    CHECK_BYTES(read(streams[i], buffers[i]), expected);
  }
}

ANYPLACE_CASE("streams", "streams.order", "kernels of one stream run one after the other", Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::vector<int> values(1000, 0);
  const Kernel add = CALL(Kernel(device, [&](const Block& block) { values[block.index().x] += 1; }));
  const Kernel twice = CALL(Kernel(device, [&](const Block& block) { values[999 - block.index().x] *= 2; }));
  for (int i = 0; i < 10; ++i) {
    CALL(stream.launch(add, {1000, 1}));
    CALL(stream.launch(twice, {1000, 1}));
  }
  CALL(stream.synchronize());
  for (const int value : values) CHECK_EQUAL(value, 2046);
}

// ---- Priorities

struct PriorityCase {
  std::string label;
  int offset;
};

const std::vector<PriorityCase> below = {{"one above the greatest", 1}, {"far above the greatest", 1000000}};

ANYPLACE_CASES(below, "streams", "streams.options", "a priority {} becomes the greatest") {
  const Device device = run.device();
  const PriorityRange range = CALL(device.priority_range());
  const Stream stream = CALL(Stream(device, {.priority = range.greatest - parameter.offset}));
  CHECK_EQUAL(CALL(stream.priority()), range.greatest);
}

const std::vector<PriorityCase> above = {{"one below the least", 1}, {"far below the least", 1000000}};

ANYPLACE_CASES(above, "streams", "streams.options", "a priority {} becomes the least") {
  const Device device = run.device();
  const PriorityRange range = CALL(device.priority_range());
  const Stream stream = CALL(Stream(device, {.priority = range.least + parameter.offset}));
  CHECK_EQUAL(CALL(stream.priority()), range.least);
}

ANYPLACE_CASE("streams", "streams.options", "the extremes of int are taken to the ends of the range") {
  const Device device = run.device();
  const PriorityRange range = CALL(device.priority_range());
  CHECK_EQUAL(CALL(Stream(device, {.priority = std::numeric_limits<int>::min()})).priority(), range.greatest);
  CHECK_EQUAL(CALL(Stream(device, {.priority = std::numeric_limits<int>::max()})).priority(), range.least);
}

ANYPLACE_CASE("streams", "streams.options", "every priority of the range is kept as it is") {
  const Device device = run.device();
  const PriorityRange range = CALL(device.priority_range());
  for (int priority = range.greatest; priority <= range.least; ++priority) {
    CHECK_EQUAL(CALL(Stream(device, {.priority = priority})).priority(), priority);
  }
}

ANYPLACE_CASE("streams", "streams.options", "the default priority is 0, also of the default stream") {
  const Device device = run.device();
  CHECK_EQUAL(CALL(Stream(device)).priority(), 0);
  CHECK_EQUAL(CALL(device.default_stream()).priority(), 0);
}

ANYPLACE_CASE("streams", "streams.options", "streams of every priority work together") {
  const Device device = run.device();
  const PriorityRange range = CALL(device.priority_range());
  std::vector<Stream> streams;
  std::vector<Buffer> buffers;
  for (int priority = range.greatest; priority <= range.least; ++priority) {
    streams.push_back(CALL(Stream(device, {.priority = priority})));
    buffers.push_back(CALL(Buffer(streams.back(), 65536)));
    CALL(streams.back().memset8(buffers.back(), static_cast<std::uint8_t>(streams.size())));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    CHECK_BYTES(read(streams[i], buffers[i]), Bytes(65536, static_cast<std::uint8_t>(i + 1)));
  }
}

/// One round: a kernel holds all compute units, kernels of low priority are queued, and then one of high priority. The
/// result is how many of the low ones began before it; -1 if the units weren't all held.
class PriorityRound {
 public:
  static constexpr int low_count = 32;

  explicit PriorityRound(const Device& device) : device_(device) {
    const PriorityRange range = device.priority_range();
    blocker_ = CALL(Stream(device, {.priority = range.greatest}));
    high_ = CALL(Stream(device, {.priority = range.greatest}));
    for (int i = 0; i < low_count; ++i) low_.push_back(CALL(Stream(device, {.priority = range.least})));
  }

  int run() {
    const auto units = static_cast<int>(device_.properties().compute_units);
    const Kernel hold = CALL(Kernel(device_, [this](const Block&) {
      std::unique_lock lock(mutex_);
      ++held_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
    }));
    const Kernel low_kernel = CALL(Kernel(device_, [this](const Block&) { begin(false); }));
    const Kernel high_kernel = CALL(Kernel(device_, [this](const Block&) { begin(true); }));
    CALL(blocker_.launch(hold, {static_cast<std::uint32_t>(units), 1}));
    const bool all_held = wait_until_held(units);
    for (const Stream& stream : low_) CALL(stream.launch(low_kernel, {1, 1}));
    const bool none_began = !began();
    CALL(high_.launch(high_kernel, {1, 1}));
    std::unique_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
    // It doesn't synchronise, because a backend may let the synchronising thread help, whatever the priorities.
    changed_.wait(lock, [this] { return order_.load() == low_count + 1; });
    return all_held && none_began ? high_after_.load() : -1;
  }

 private:
  bool wait_until_held(int units) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 5s, [&] { return held_ == units; });
  }
  bool began() const { return order_.load() != 0; }
  /// It doesn't hold the mutex, for which the high-priority kernel might wait while the others overtake it.
  void begin(bool high) {
    if (high) high_after_ = order_.load();
    if (order_.fetch_add(1) != low_count) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  Device device_;
  Stream blocker_;
  Stream high_;
  std::vector<Stream> low_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;               // guarded by mutex_
  bool open_ = false;          // guarded by mutex_
  std::atomic<int> order_{0};  // kernels that began
  std::atomic<int> high_after_{-1};
};

ANYPLACE_CASE("streams", "streams.options", "where compute units are scarce the higher priority goes first",
              Capability::priorities, Capability::host_kernels) {
  const Device device = run.device();
  // The system may preempt a thread just before its kernel begins, so a single round proves little. If priorities are
  // ignored, the high-priority kernel is nearly always among the last ones.
  int rounds = 0;
  int first = 0;
  for (int i = 0; i < 15; ++i) {
    PriorityRound round(device);
    const int before = round.run();
    CALL(device.synchronize());
    if (before < 0) continue;
    ++rounds;
    first += before < PriorityRound::low_count / 2;
  }
  if (rounds < 8) skip("compute units that one kernel can hold");
  CHECK(first * 4 > rounds);
}

}  // namespace
}  // namespace anyplace::conformance::streams_order_cases
