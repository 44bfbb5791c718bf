// SPDX-License-Identifier: Apache-2.0
// Host functions: they run once, in order, on a thread of the runtime. The cases also check what they may call there.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "support.h"

namespace anyplace::conformance::host_functions_cases {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t bytes = 1 << 16;

ANYPLACE_CASE("host functions", "streams.host_functions", "each runs exactly once", Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::vector<std::atomic<int>> ran(500);
  for (auto& one : ran) CALL(stream.launch_host_func([&one] { ++one; }));
  CALL(stream.synchronize());
  CALL(device.synchronize());
  for (const auto& one : ran) CHECK_EQUAL(one.load(), 1);
}

ANYPLACE_CASE("host functions", "streams.host_functions", "none runs again later", Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  std::atomic<int> ran{0};
  CALL(stream.launch_host_func([&] { ++ran; }));
  CALL(stream.synchronize());
  CHECK_STAYS_FALSE(ran.load() != 1);
}

ANYPLACE_CASE("host functions", "streams.host_functions", "those of one stream run in order, one at a time",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  std::vector<int> order;
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  for (int i = 0; i < 300; ++i) {
    CALL(stream.launch_host_func([&, i] {
      if (++inside != 1) overlapped = true;
      order.push_back(i);
      --inside;
    }));
  }
  CALL(stream.synchronize());
  CHECK(!overlapped.load());
  CHECK_EQUAL(order.size(), 300u);
  for (int i = 0; i < 300; ++i) CHECK_EQUAL(order[static_cast<std::size_t>(i)], i);
}

ANYPLACE_CASE("host functions", "streams.host_functions", "one sees the work that was submitted before it",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 8 << 20));
  Bytes host(8 << 20);
  for (int round = 1; round <= 6; ++round) {
    bool all = false;
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(round)));
    CALL(stream.copy(host, buffer));
    CALL(stream.launch_host_func([&, round] { all = host == Bytes(8 << 20, static_cast<std::uint8_t>(round)); }));
    CALL(stream.synchronize());
    CHECK(all);
  }
}

ANYPLACE_CASE("host functions", "streams.host_functions", "one doesn't run before the work that it follows",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream stream = CALL(Stream(device));
  gate.hold(held);
  CALL(stream.wait_stream(held));
  Signal ran;
  CALL(stream.launch_host_func([ran] { ran.set(); }));
  CHECK_STAYS_FALSE(ran.is_set());
  gate.open();
  CALL(stream.synchronize());
  CHECK(ran.is_set());
}

ANYPLACE_CASE("host functions", "streams.host_functions",
              "one doesn't run before an earlier fill of its stream is done", Capability::host_functions,
              Capability::pinned_memory) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, 16 << 20));
  const HostBuffer host = CALL(HostBuffer(device, 16 << 20));
  for (int round = 1; round <= 5; ++round) {
    bool last = false;
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(round)));
    CALL(stream.copy({host.data(), host.size()}, buffer));
    CALL(stream.launch_host_func([&, round] { last = host.data()[host.size() - 1] == static_cast<std::byte>(round); }));
    CALL(stream.synchronize());
    CHECK(last);
  }
}

ANYPLACE_CASE("host functions", "streams.host_functions", "later work of the stream waits for it",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, bytes, 1);
  gate.hold(stream);
  gate.wait_until_held();
  const Event event = CALL(stream.record_event());
  CALL(stream.memset8(buffer, 2));
  CHECK_STAYS_FALSE(event.query() || stream.query());
  gate.open();
  CHECK_BYTES(read(stream, buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("host functions", "streams.host_functions", "a copy from pinned memory sees what it wrote there",
              Capability::host_functions, Capability::pinned_memory) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 0);
  const HostBuffer host = CALL(HostBuffer(device, bytes));
  for (int round = 1; round <= 20; ++round) {
    CALL(stream.launch_host_func([&, round] { std::fill_n(host.data(), host.size(), static_cast<std::byte>(round)); }));
    CALL(stream.copy(buffer, {host.data(), host.size()}));
    CHECK_BYTES(read(stream, buffer), Bytes(bytes, static_cast<std::uint8_t>(round)));
  }
}

ANYPLACE_CASE("host functions", "streams.host_functions", "none runs on a thread that synchronises or submits",
              Capability::host_functions) {
  const Device device = run.device();
  // It is a mark on the thread and not its id, because the system reuses the id of a thread that ended.
  static thread_local bool is_ours = false;
  std::atomic<int> on_ours = 0;
  const Stream main_stream = CALL(Stream(device));
  const auto work = [&](const Stream& stream) {
    is_ours = true;
    for (int i = 0; i < 20; ++i) {
      CALL(stream.launch_host_func([&] { on_ours += is_ours ? 1 : 0; }));
      if (i % 4 == 0) CALL(stream.synchronize());
      if (i % 4 == 1) static_cast<void>(CALL(stream.synchronize(1h)));
      if (i % 4 == 2) CALL(device.synchronize());
      if (i % 4 == 3) CALL(stream.record_event()).synchronize();
    }
  };
  run_threads(3, [&](int) {
    const Stream stream = CALL(Stream(device));
    work(stream);
  });
  work(main_stream);
  CHECK_EQUAL(on_ours.load(), 0);
}

ANYPLACE_CASE("host functions", "streams.host_functions", "launching one doesn't run it before the call returns",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  // The mutex is locked while the function is submitted, so a function that ran inside the call would deadlock.
  std::mutex mutex;
  bool ran = false;
  {
    const std::lock_guard lock(mutex);
    CALL(stream.launch_host_func([&] {
      const std::lock_guard inner(mutex);
      ran = true;
    }));
  }
  CALL(stream.synchronize());
  CHECK(ran);
}

ANYPLACE_CASE("host functions", "streams.host_functions", "it runs without anybody synchronising",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  Signal ran;
  CALL(stream.launch_host_func([ran] { ran.set(); }));
  ran.wait();
}

ANYPLACE_CASE("host functions", "streams.host_functions", "what it captured is kept until it ran and then let go",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  HostGate gate;
  gate.hold(stream);
  auto kept = std::make_shared<int>(41);
  const std::weak_ptr<int> watch = kept;
  int seen = 0;
  CALL(stream.launch_host_func([kept, &seen] { seen = *kept + 1; }));
  kept.reset();
  CHECK(!watch.expired());
  gate.open();
  CALL(stream.synchronize());
  CHECK_EQUAL(seen, 42);
  step(__FILE__, __LINE__, "waiting for the function to be let go");
  while (!watch.expired()) std::this_thread::yield();
}

ANYPLACE_CASE("host functions", "streams.host_functions", "those of two devices run at the same time",
              Capability::host_functions, second_device) {
  const Stream first = CALL(Stream(run.device()));
  const Stream second = CALL(Stream(run.second()));
  Signal running;
  Signal from_second;
  // The first device's function can end only after the second's, which starts later, has run.
  CALL(first.launch_host_func([running, from_second] {
    running.set();
    from_second.wait();
  }));
  running.wait();
  CALL(second.launch_host_func([from_second] { from_second.set(); }));
  CALL(first.synchronize());
  CALL(second.synchronize());
}

ANYPLACE_CASE("host functions", "streams.host_functions", "those of many streams all run", Capability::host_functions) {
  const Device device = run.device();
  std::atomic<int> ran{0};
  std::vector<Stream> streams;
  for (int i = 0; i < 40; ++i) streams.push_back(CALL(Stream(device)));
  for (int round = 0; round < 25; ++round) {
    for (const Stream& stream : streams) CALL(stream.launch_host_func([&] { ++ran; }));
  }
  for (const Stream& stream : streams) CALL(stream.synchronize());
  CHECK_EQUAL(ran.load(), 1000);
}

ANYPLACE_CASE("host functions", "streams.host_functions", "an empty one is refused", Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  CHECK_ERROR(invalid_argument, stream.launch_host_func(std::function<void()>()));
  CALL(stream.synchronize());
}

/// A call of the API that a host function makes.
struct CallBack {
  std::string label;
  std::function<void(const Stream&, const Event&, const Buffer&)> call;
};

const std::vector<CallBack> call_backs = {
    {"synchronising its own stream", [](const Stream& s, const Event&, const Buffer&) { s.synchronize(); }},
    {"synchronising its device", [](const Stream& s, const Event&, const Buffer&) { s.device().synchronize(); }},
    {"querying a stream", [](const Stream& s, const Event&, const Buffer&) { static_cast<void>(s.query()); }},
    {"launching a host function", [](const Stream& s, const Event&, const Buffer&) { s.launch_host_func([] {}); }},
    {"a fill", [](const Stream& s, const Event&, const Buffer& b) { s.memset8(b, 1); }},
    {"recording an event", [](const Stream& s, const Event& e, const Buffer&) { e.record(s); }},
    {"waiting for an event", [](const Stream& s, const Event& e, const Buffer&) { s.wait_event(e); }},
    {"synchronising an event", [](const Stream&, const Event& e, const Buffer&) { e.synchronize(); }},
    {"making a stream", [](const Stream&, const Event& e, const Buffer&) { static_cast<void>(Stream(e.device())); }},
    {"making a buffer", [](const Stream& s, const Event&, const Buffer&) { static_cast<void>(Buffer(s, 16)); }},
};

ANYPLACE_CASES(call_backs, "host functions", "streams.host_functions", "{} from inside one is not_permitted",
               Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  const Buffer buffer = filled(stream, 64, 7);
  std::optional<ErrorCode> code;
  CALL(stream.launch_host_func([&] {
    try {
      parameter.call(stream, event, buffer);
      code = ErrorCode::ok;
    } catch (const Error& error) {
      code = error.code();
    }
  }));
  CALL(stream.synchronize());
  CHECK(code.has_value());
  CHECK_EQUAL(*code, ErrorCode::not_permitted);
  CHECK_BYTES(read(buffer), Bytes(64, 7));
}

ANYPLACE_CASE("host functions", "streams.host_functions", "a not_permitted that it doesn't catch is its stream's fault",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.launch_host_func([&] { stream.synchronize(); }));
  CHECK_ERROR(host_function_failed, stream.synchronize());
}

ANYPLACE_CASE("host functions", "streams.host_functions", "the API works after a host function that called it",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 64, 7);
  CALL(stream.launch_host_func([&] {
    try {
      stream.memset8(buffer, 1);
    } catch (const Error&) {
    }
  }));
  CALL(stream.memset8(buffer, 8));
  CHECK_BYTES(read(stream, buffer), Bytes(64, 8));
}

ANYPLACE_CASE("host functions", "streams.host_functions", "it may destroy a stream", Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  auto victim = std::make_shared<Stream>(CALL(Stream(device)));
  const Buffer buffer = filled(*victim, bytes, 1);
  CALL(victim->memset8(buffer, 2));
  const StreamView view = *victim;
  CALL(stream.launch_host_func([victim = std::move(victim)]() mutable { victim.reset(); }));
  CALL(stream.synchronize());
  CHECK_ERROR(invalid_handle, view.query());
  CALL(device.synchronize());
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("host functions", "streams.host_functions", "it may destroy its own stream", Capability::host_functions) {
  const Device device = run.device();
  auto stream = std::make_shared<Stream>(CALL(Stream(device)));
  Signal ran;
  StreamView view = *stream;
  CALL(view.launch_host_func([stream, ran]() mutable {
    *stream = Stream();
    ran.set();
  }));
  ran.wait();
  CALL(device.synchronize());
  CHECK_ERROR(invalid_handle, view.query());
}

ANYPLACE_CASE("host functions", "streams.host_functions", "it may destroy an event", Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  auto event = std::make_shared<Event>(CALL(stream.record_event()));
  const EventView view = *event;
  CALL(stream.launch_host_func([event = std::move(event)]() mutable { event.reset(); }));
  CALL(stream.synchronize());
  CHECK_ERROR(invalid_handle, view.query());
}

ANYPLACE_CASE("host functions", "streams.host_functions", "it may destroy a buffer that later work doesn't use",
              Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  for (int i = 0; i < 50; ++i) {
    auto buffer = std::make_shared<Buffer>(CALL(Buffer(stream, bytes)));
    CALL(stream.memset8(*buffer, 1));
    CALL(stream.launch_host_func([buffer = std::move(buffer)]() mutable { buffer.reset(); }));
  }
  CALL(stream.synchronize());
  CALL(device.synchronize());
  CHECK_BYTES(read(filled(stream, bytes, 3)), Bytes(bytes, 3));
}

ANYPLACE_CASE("host functions", "streams.host_functions", "it may destroy pinned memory", Capability::host_functions,
              Capability::pinned_memory) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  auto host = std::make_shared<HostBuffer>(CALL(HostBuffer(device, bytes)));
  CALL(stream.launch_host_func([host = std::move(host)]() mutable { host.reset(); }));
  CALL(stream.synchronize());
  CALL(device.synchronize());
}

}  // namespace
}  // namespace anyplace::conformance::host_functions_cases
