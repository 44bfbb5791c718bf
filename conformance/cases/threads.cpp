// SPDX-License-Identifier: Apache-2.0
// Every call may come from any thread at any time, also with one handle.
#include <atomic>
#include <mutex>
#include <thread>

#include "support.h"

namespace anyplace::conformance::threads_cases {
namespace {

ANYPLACE_CASE("threads", "errors.threads", "the first use of a backend may come from several threads at once") {
  run_threads(8, [&](int) {
    const Stream stream = CALL(Stream(run.device()));
    CALL(stream.synchronize());
  });
}

ANYPLACE_CASE("threads", "errors.threads", "several threads submit fills to one stream") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 8 * 4096, 0);
  run_threads(8, [&](int thread) {
    const BufferView part = CALL(buffer.sub(static_cast<std::uint64_t>(thread) * 4096, 4096));
    for (int i = 0; i < 100; ++i) CALL(stream.memset8(part, static_cast<std::uint8_t>(i + thread)));
  });
  const Bytes got = read(stream, buffer);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK_EQUAL(got[i], static_cast<std::uint8_t>(99 + i / 4096));
}

ANYPLACE_CASE("threads", "errors.threads", "each thread's submissions to a shared stream keep their order",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  std::vector<std::vector<int>> seen(6);
  run_threads(6, [&](int thread) {
    for (int i = 0; i < 60; ++i) {
      CALL(stream.launch_host_func([&, thread, i] { seen[static_cast<std::size_t>(thread)].push_back(i); }));
    }
  });
  CALL(stream.synchronize());
  for (const auto& one : seen) {
    CHECK_EQUAL(one.size(), 60u);
    for (int i = 0; i < 60; ++i) CHECK_EQUAL(one[static_cast<std::size_t>(i)], i);
  }
}

ANYPLACE_CASE("threads", "errors.threads", "one event is recorded, waited for and queried by several threads") {
  const Device device = run.device();
  const Event event = CALL(Event(device));
  run_threads(6, [&](int thread) {
    const Stream stream = CALL(Stream(device));
    for (int i = 0; i < 100; ++i) {
      if (thread % 3 == 0) CALL(event.record(stream));
      if (thread % 3 == 1) CALL(stream.wait_event(event));
      if (thread % 3 == 2) static_cast<void>(CALL(event.query()));
      if (i % 20 == 0) CALL(event.synchronize());
    }
    CALL(stream.synchronize());
  });
}

ANYPLACE_CASE("threads", "errors.threads", "one stream is queried and synchronised while others submit to it") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 4096, 0);
  run_threads(6, [&](int thread) {
    for (int i = 0; i < 100; ++i) {
      if (thread < 3) CALL(stream.memset8(buffer, 5));
      if (thread == 3) static_cast<void>(CALL(stream.query()));
      if (thread == 4) CALL(stream.synchronize());
      if (thread == 5) static_cast<void>(CALL(stream.synchronize(std::chrono::microseconds(10))));
    }
  });
  CHECK_BYTES(read(stream, buffer), Bytes(4096, 5));
}

ANYPLACE_CASE("threads", "errors.threads", "streams, events and buffers are made and destroyed by several threads") {
  const Device device = run.device();
  run_threads(6, [&](int thread) {
    for (int i = 0; i < 60; ++i) {
      const Stream stream = CALL(Stream(device));
      const Buffer buffer = filled(stream, 1000, static_cast<std::uint8_t>(thread));
      const Event event = CALL(stream.record_event());
      CHECK_BYTES(read(stream, buffer), Bytes(1000, static_cast<std::uint8_t>(thread)));
      CHECK(event.query());
    }
  });
}

ANYPLACE_CASE("threads", "errors.threads", "a buffer made by one thread is destroyed by another") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  for (int round = 0; round < 30; ++round) {
    auto buffer = std::make_unique<Buffer>(CALL(Buffer(stream, 65536)));
    CALL(stream.memset8(*buffer, 1));
    run_threads(1, [&](int) { buffer.reset(); });
  }
  CALL(stream.synchronize());
}

ANYPLACE_CASE("threads", "errors.threads", "a stream made by one thread is used and destroyed by another") {
  const Device device = run.device();
  std::unique_ptr<Stream> stream;
  run_threads(1, [&](int) { stream = std::make_unique<Stream>(device); });
  const Buffer buffer = filled(*stream, 4096, 3);
  run_threads(1, [&](int) { stream.reset(); });
  CHECK_BYTES(read(buffer), Bytes(4096, 3));
}

ANYPLACE_CASE("threads", "errors.threads", "threads wait for each other's streams around a ring") {
  const Device device = run.device();
  constexpr int count = 5;
  std::vector<Stream> streams;
  std::vector<Buffer> buffers;
  for (int i = 0; i < count; ++i) {
    streams.push_back(CALL(Stream(device)));
    buffers.push_back(filled(streams.back(), 65536, 0));
  }
  run_threads(count, [&](int thread) {
    const auto mine = static_cast<std::size_t>(thread);
    const std::size_t next = (mine + 1) % count;
    for (int i = 1; i <= 50; ++i) {
      CALL(streams[mine].wait_stream(streams[next]));
      CALL(streams[mine].memset8(buffers[mine], static_cast<std::uint8_t>(i)));
    }
  });
  CALL(device.synchronize());
  for (const Buffer& buffer : buffers) CHECK_BYTES(read(buffer), Bytes(65536, 50));
}

ANYPLACE_CASE("threads", "errors.threads", "an error of one thread is not another's") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 64, 1);
  run_threads(6, [&](int thread) {
    for (int i = 0; i < 100; ++i) {
      if (thread % 2 == 0) {
        const Error error = CHECK_ERROR(invalid_argument, stream.memset16(buffer.sub(1, 2), 0));
        CHECK(error.operation().find("memset16") != std::string::npos);
      } else {
        const Error error = CHECK_ERROR(invalid_handle, EventView().query());
        CHECK(error.operation().find("query") != std::string::npos);
      }
    }
  });
}

ANYPLACE_CASE("threads", "errors.threads", "several threads copy at once, each its own") {
  const Device device = run.device();
  run_threads(6, [&](int thread) {
    const Stream stream = CALL(Stream(device));
    const Bytes contents = pattern(500009, static_cast<std::uint64_t>(thread) + 1);
    for (int i = 0; i < 10; ++i) {
      const Buffer first = upload(stream, contents);
      const Buffer second = CALL(Buffer(stream, contents.size()));
      CALL(stream.copy(second, first));
      CHECK_BYTES(read(stream, second), contents);
    }
  });
}

ANYPLACE_CASE("threads", "errors.threads", "a thread that waits for work blocks no other thread",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  const Buffer buffer = filled(free, 4096, 0);
  gate.hold(held);
  std::exception_ptr thrown;
  const Signal waiting;
  std::thread waiter([&] {
    try {
      waiting.set();
      held.synchronize();
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  try {
    waiting.wait();
    CHECK_STAYS_FALSE(held.query());
    for (int i = 1; i <= 20; ++i) {
      CALL(free.memset8(buffer, static_cast<std::uint8_t>(i)));
      CALL(free.synchronize());
      CALL(free.record_event()).synchronize();
      const Stream another = CALL(Stream(device));
      CHECK(!held.query());
    }
  } catch (...) {
    gate.open();
    waiter.join();
    throw;
  }
  gate.open();
  waiter.join();
  if (thrown) std::rethrow_exception(thrown);
  CHECK_BYTES(read(buffer), Bytes(4096, 20));
}

}  // namespace
}  // namespace anyplace::conformance::threads_cases
