// SPDX-License-Identifier: Apache-2.0
//
// Events: their states and the time between them.
#include "support.h"

TEST_CASE("Given an event that was never recorded when it is asked then it is complete") {
  const anyplace::Event event(device());
  const anyplace::Stream stream(device());
  CHECK(event.query());
  event.synchronize();
  stream.wait_event(event);
  stream.synchronize();
}

TEST_CASE("Given timed events around work that takes a known time at least when measured then it is no less") {
  const anyplace::Stream stream(device());
  const anyplace::Event start(device(), {.timing = true});
  const anyplace::Event end(device(), {.timing = true});
  constexpr std::chrono::milliseconds taken(30);
  std::chrono::steady_clock::duration inside{};
  const auto before = std::chrono::steady_clock::now();
  stream.record_event(start);
  stream.launch_host_func([&] {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < taken) {
    }
    inside = std::chrono::steady_clock::now() - begin;
  });
  stream.record_event(end);
  stream.synchronize();
  const std::chrono::duration<double, std::milli> around = std::chrono::steady_clock::now() - before;
  const std::chrono::duration<double, std::milli> least = inside;
  const double milliseconds = anyplace::elapsed_time(start, end);
  CHECK(milliseconds >= least.count() * 0.999);
  CHECK(milliseconds <= around.count() * 1.001);
  CHECK(anyplace::elapsed_time(end, start) == -milliseconds);
}

TEST_CASE("Given timed events on two devices when measured then the time is between those of the host") {
  const anyplace::Stream here(device(0));
  const anyplace::Stream there(device(1));
  const anyplace::Event start(device(0), {.timing = true});
  const anyplace::Event end(device(1), {.timing = true});
  const auto before = std::chrono::steady_clock::now();
  here.record_event(start);
  here.launch_host_func([] {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(30)) {
    }
  });
  there.wait_stream(here);
  there.record_event(end);
  there.synchronize();
  const std::chrono::duration<double, std::milli> around = std::chrono::steady_clock::now() - before;
  const double milliseconds = anyplace::elapsed_time(start, end);
  CHECK(milliseconds > 0);
  CHECK(milliseconds < around.count() * 2);
}

TEST_CASE("Given events that can't be measured when they are then each reason has its own error") {
  const anyplace::Stream stream(device());
  const anyplace::Event plain(device());
  const anyplace::Event timed(device(), {.timing = true});
  const anyplace::Event never(device(), {.timing = true});
  stream.record_event(plain);
  stream.record_event(timed);
  stream.synchronize();
  using anyplace::ErrorCode;
  CHECK(error_of([&] { anyplace::elapsed_time(plain, timed); }).code() == ErrorCode::timing_disabled);
  CHECK(error_of([&] { anyplace::elapsed_time(timed, never); }).code() == ErrorCode::not_recorded);
  Hold hold(stream);
  stream.record_event(timed);
  CHECK(error_of([&] { anyplace::elapsed_time(timed, timed); }).code() == ErrorCode::not_ready);
}

TEST_CASE("Given an event behind a hold when waited for with a limit then the limit runs out and the work goes on") {
  const anyplace::Stream stream(device());
  Hold hold(stream);
  const anyplace::Event event = stream.record_event();
  CHECK_FALSE(event.synchronize(std::chrono::nanoseconds(0)));
  CHECK_FALSE(event.synchronize(std::chrono::milliseconds(5)));
  hold.open();
  CHECK(event.synchronize(std::chrono::minutes(1)));
  CHECK(event.query());
}
