// SPDX-License-Identifier: Apache-2.0
//
// What runs before what: within a stream, between streams, between devices, and with the null stream.
#include <memory>
#include <thread>

#include "support.h"

namespace {

constexpr std::size_t count = 1 << 16;
constexpr std::uint64_t bytes = count * sizeof(std::uint32_t);

}  // namespace

TEST_CASE("Given a chain of copies in one stream when it is done then each saw the one before") {
  const anyplace::Stream stream(device());
  const anyplace::Buffer first(stream, bytes);
  const anyplace::Buffer second(stream, bytes);
  const std::vector<std::uint32_t> values = numbers(count);
  for (int round = 0; round < 20; ++round) {
    stream.memset32(first, 0xdeadbeef);
    stream.copy(first, values);
    stream.memset8(second, 0);
    stream.copy(second, first);
    stream.memset8(first, 1);
    CHECK(read(stream, second) == values);
  }
}

TEST_CASE("Given a stream that is held back when another works then only the other gets on") {
  const anyplace::Stream held(device());
  const anyplace::Stream other(device());
  Hold hold(held);
  const anyplace::Buffer buffer(other, bytes);
  other.memset32(buffer, 7);
  CHECK(read(other, buffer) == std::vector<std::uint32_t>(count, 7));
  CHECK_FALSE(held.query());
  CHECK_FALSE(held.synchronize(std::chrono::milliseconds(5)));
  hold.open();
  held.synchronize();
  CHECK(held.query());
}

TEST_CASE("Given a wait for a record when the event is recorded again then the wait keeps the first record") {
  const anyplace::Stream producer(device());
  const anyplace::Stream slow(device());
  const anyplace::Stream consumer(device());
  const anyplace::Event event(device());
  producer.record_event(event);
  producer.synchronize();
  consumer.wait_event(event);
  Hold hold(slow);
  slow.record_event(event);
  consumer.synchronize();
  CHECK_FALSE(event.query());
  consumer.wait_event(event);
  CHECK_FALSE(consumer.query());
  hold.open();
  consumer.synchronize();
  CHECK(event.query());
}

TEST_CASE("Given an event that a stream waits on when it is destroyed then the stream still waits") {
  const anyplace::Stream producer(device());
  const anyplace::Stream consumer(device());
  Hold hold(producer);
  {
    anyplace::Event event(device());
    producer.record_event(event);
    consumer.wait_event(event);
  }
  CHECK_FALSE(consumer.query());
  hold.open();
  consumer.synchronize();
}

TEST_CASE("Given two devices when a stream of one waits for the other then data passes between them in order") {
  REQUIRE(anyplace::device_count("opencl") == 2);
  const anyplace::Stream producer(device(0));
  const anyplace::Stream consumer(device(1));
  const anyplace::Buffer from(producer, bytes);
  const anyplace::Buffer to(consumer, bytes);
  const std::vector<std::uint32_t> values = numbers(count, 5);
  Hold hold(producer);
  producer.copy(from, values);
  consumer.wait_stream(producer);
  CHECK_FALSE(consumer.query());
  consumer.copy(to, from);
  hold.open();
  CHECK(read(consumer, to) == values);
}

TEST_CASE("Given blocking streams with work when the null stream gets some then it waits for them and they for it") {
  const anyplace::Stream before(device(), {0, true});
  const anyplace::Stream after(device(), {0, true});
  const anyplace::Stream apart(device());
  const anyplace::StreamView null = device().default_stream();
  const anyplace::Buffer buffer(before, bytes);
  Hold hold(before);
  before.memset32(buffer, 1);
  null.memset32(buffer, 2);
  after.memset32(buffer, 3);
  apart.record_event();
  apart.synchronize();
  CHECK_FALSE(null.query());
  CHECK_FALSE(after.query());
  hold.open();
  CHECK(read(after, buffer) == std::vector<std::uint32_t>(count, 3));
  CHECK(null.query());
}

TEST_CASE("Given the null stream with work when a blocking stream gets an event recorded then that waits") {
  const anyplace::Stream blocking(device(), {0, true});
  const anyplace::Event event(device());
  Hold hold(device().default_stream());
  blocking.record_event(event);
  CHECK_FALSE(event.query());
  hold.open();
  event.synchronize();
}

TEST_CASE("Given a stream with work pending when it is destroyed then that returns and the work is done") {
  const anyplace::Buffer buffer(device(), bytes);
  const anyplace::Event done(device());
  std::promise<void> open;
  {
    const anyplace::Stream stream(device());
    stream.launch_host_func([opened = open.get_future().share()] { opened.wait(); });
    stream.memset32(buffer, 9);
    stream.record_event(done);
  }
  CHECK_FALSE(done.query());
  CHECK_FALSE(device().synchronize(std::chrono::milliseconds(5)));
  open.set_value();
  device().synchronize();
  CHECK(done.query());
  const anyplace::Stream reader(device());
  CHECK(read(reader, buffer) == std::vector<std::uint32_t>(count, 9));
}

TEST_CASE("Given many threads on one stream and on their own when all are done then nothing is lost") {
  constexpr int threads = 8;
  constexpr int rounds = 50;
  const anyplace::Stream shared(device());
  std::vector<std::thread> workers;
  std::vector<int> failures(threads, 0);
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (int round = 0; round < rounds; ++round) {
        const anyplace::Stream own(device(), {0, round % 3 == 0});
        const anyplace::Buffer buffer(own, 4096);
        const auto value = static_cast<std::uint32_t>(t * rounds + round);
        own.memset32(buffer, value);
        shared.wait_stream(own);
        std::vector<std::uint32_t> back(1024);
        shared.copy(back, buffer);
        const anyplace::Event event(device());
        shared.record_event(event);
        event.synchronize();
        own.wait_event(event);
        if (back != std::vector<std::uint32_t>(1024, value)) ++failures[static_cast<std::size_t>(t)];
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  shared.synchronize();
  CHECK(failures == std::vector<int>(threads, 0));
}
