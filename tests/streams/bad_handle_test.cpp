// SPDX-License-Identifier: Apache-2.0
// Handles that nobody was ever given, what is said of bad ones, and owners that are moved.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>

#include "support/errors.h"

namespace bad_handle_test {

using namespace anyplace;
using test::code_of;

namespace {

/// Moves what `make` makes, onto one of the same kind and onto itself.
template <class Make>
void check_moves(const Make& make) {
  auto first = make();
  const auto view = first.view();
  auto second = std::move(first);
  CHECK(first.id() == 0);  // NOLINT: what is left behind is the point
  CHECK(second.view() == view);
  auto third = make();
  const auto gone = third.view();
  CHECK(third.view() != view);
  third = std::move(second);
  CHECK(third.view() == view);
  CHECK(code_of([&] { static_cast<void>(gone.device()); }) == ErrorCode::invalid_handle);
  auto& itself = third;
  third = std::move(itself);
  CHECK(third.view() == view);
  CHECK(code_of([&] { static_cast<void>(view.device()); }) == ErrorCode::ok);
}

}  // namespace

TEST_CASE("Given an owner when it is moved then its identity goes along and what was there before ends") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  check_moves([&] { return Stream(device); });
  check_moves([&] { return Event(device); });
  check_moves([&] { return Buffer(stream, 64); });
  check_moves([&] { return Kernel(device, [](const Block&) {}); });
}

TEST_CASE("Given made-up handles then calls with them are invalid handles") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Event event(device);
  for (const std::uint64_t id : {std::uint64_t{1}, std::uint64_t{0xFFFFFF}, stream.id() + (1 << 24),
                                 event.id() + (1 << 24), ~std::uint64_t{0}, std::uint64_t{12345} << 24}) {
    INFO(id);
    const StreamView no_stream(id);
    const EventView no_event(id);
    const std::function<void()> calls[] = {[&] { static_cast<void>(no_stream.query()); },
                                           [&] { no_stream.launch_host_func([] {}); },
                                           [&] { event.record(no_stream); },
                                           [&] { stream.wait_stream(no_stream); },
                                           [&] { set_current_stream(no_stream); },
                                           [&] { no_event.synchronize(); },
                                           [&] { no_event.record(stream); },
                                           [&] { stream.wait_event(no_event); },
                                           [&] { no_event.device(); }};
    for (const auto& call : calls) REQUIRE(code_of(call) == ErrorCode::invalid_handle);
  }
}

TEST_CASE("Given an invalid handle then the error says what happened to it and which call it was") {
  const auto null = test::required_error([] { StreamView().synchronize(); });
  REQUIRE(null.operation() == "Stream::synchronize");
  REQUIRE(null.text().find("null") != std::string::npos);
  const EventView gone = Event(Device("cpu_sim:0")).view();
  const auto destroyed = test::required_error([&] { gone.synchronize(); });
  REQUIRE(destroyed.operation() == "Event::synchronize");
  REQUIRE(destroyed.text().find("destroyed") != std::string::npos);
}

}  // namespace bad_handle_test
