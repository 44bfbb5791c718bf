// SPDX-License-Identifier: Apache-2.0
// The one exception type, and the handler for errors that can't be thrown.
#include <set>
#include <stdexcept>
#include <type_traits>

#include "support.h"

namespace anyplace::conformance::errors_cases {
namespace {

ANYPLACE_CASE("errors", "errors.exception",
              "an error has its code, place, operation and text, and what() has them all") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 16));
  const Error error = CHECK_ERROR(invalid_argument, stream.memset32(buffer.sub(0, 3), 1));
  const std::string what = error.what();
  CHECK_EQUAL(error.place(), run.place());
  CHECK(!error.operation().empty());
  CHECK(!error.text().empty());
  CHECK(what.find(error.place()) != std::string::npos);
  CHECK(what.find(error.operation()) != std::string::npos);
  CHECK(what.find(error.text()) != std::string::npos);
  CHECK(what.find("invalid_argument") != std::string::npos);
  CHECK(what.find('\n') == std::string::npos);
}

ANYPLACE_CASE("errors", "errors.exception", "an error can be caught as std::runtime_error and copied without a throw") {
  static_assert(std::is_base_of_v<std::runtime_error, Error>);
  static_assert(std::is_nothrow_copy_constructible_v<Error>);
  try {
    static_cast<void>(StreamView().query());
    check_failed(__FILE__, __LINE__, "nothing was thrown");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()).find("invalid_handle") != std::string::npos);
  }
}

ANYPLACE_CASE("errors", "errors.exception", "each code has a name of its own, and an unknown number has one too") {
  std::set<std::string> names;
  int count = 0;
#define ANYPLACE_CONFORMANCE_CODE(upper, lower, number, text) \
  names.insert(to_string(ErrorCode::lower));                  \
  ++count;
  ANYPLACE_STATUS_LIST(ANYPLACE_CONFORMANCE_CODE)
#undef ANYPLACE_CONFORMANCE_CODE
  CHECK_EQUAL(names.size(), static_cast<std::size_t>(count));
  CHECK_EQUAL(std::string(to_string(static_cast<ErrorCode>(12345))), std::string("unknown"));
}

ANYPLACE_CASE("errors", "errors.exception", "the operation is the call that was made") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 16));
  CHECK(CHECK_ERROR(invalid_argument, stream.memset32(buffer.sub(0, 3), 1)).operation().find("memset32") !=
        std::string::npos);
  CHECK(CHECK_ERROR(invalid_argument, stream.copy(buffer, buffer)).operation().find("copy") != std::string::npos);
  CHECK(CHECK_ERROR(invalid_handle, EventView().query()).operation().find("query") != std::string::npos);
}

ANYPLACE_CASE("errors", "errors.exception", "an unsupported capability is named") {
  const Device device = run.device();
  for (const Capability capability : all_capabilities()) {
    if (device.has(capability)) continue;
    if (capability == Capability::device_reset) {
      CHECK(std::string(CHECK_ERROR(unsupported, device.reset()).what()).find("device_reset") != std::string::npos);
    }
    if (capability == Capability::pinned_memory) {
      CHECK(std::string(CHECK_ERROR(unsupported, HostBuffer(device, 16)).what()).find("pinned_memory") !=
            std::string::npos);
    }
    if (capability == Capability::host_kernels) {
      CHECK(std::string(CHECK_ERROR(unsupported, Kernel(device, [](const Block&) {})).what()).find("host_kernels") !=
            std::string::npos);
    }
    if (capability == Capability::interprocess_events) {
      CHECK(std::string(CHECK_ERROR(unsupported, Event(device, {.interprocess = true})).what())
                .find("interprocess_events") != std::string::npos);
    }
  }
}

ANYPLACE_CASE("errors", "errors.exception", "after an error the same call with good arguments works") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 64, 1);
  for (int i = 0; i < 20; ++i) {
    CHECK_ERROR(invalid_argument, stream.memset16(buffer.sub(1, 2), 0x0202));
    CALL(stream.memset16(buffer, 0x0202));
  }
  CHECK_BYTES(read(stream, buffer), Bytes(64, 2));
}

ANYPLACE_CASE("errors", "errors.exception", "destroying owners in any order is silent") {
  bool said = false;
  set_error_handler([&](const Error&) { said = true; });
  const Device device = run.device();
  for (int order = 0; order < 4; ++order) {
    auto stream = std::make_unique<Stream>(device);
    auto event = std::make_unique<Event>(CALL(stream->record_event()));
    auto buffer = std::make_unique<Buffer>(CALL(Buffer(*stream, 4096)));
    CALL(stream->memset8(*buffer, 1));
    if (order == 0) stream.reset();
    if (order == 1) event.reset();
    if (order == 2) buffer.reset();
    event.reset();
    stream.reset();
    buffer.reset();
  }
  CALL(device.synchronize());
  CHECK(!said);
  set_error_handler({});
}

ANYPLACE_CASE("errors", "errors.exception",
              "set_error_handler returns the previous handler, and what a handler throws is swallowed",
              Capability::host_functions) {
  int first = 0;
  set_error_handler([&](const Error&) { ++first; });
  ErrorHandler before = set_error_handler([](const Error&) { throw std::runtime_error("from the handler"); });
  CHECK(static_cast<bool>(before));
  const Device device = run.device();
  {
    const Stream stream = CALL(Stream(device));
    Signal ran;
    CALL(stream.launch_host_func([] { throw std::runtime_error("not collected"); }));
    CALL(stream.launch_host_func([ran] { ran.set(); }));
    ran.wait();
  }
  CALL(device.synchronize());
  set_error_handler(before);
  CHECK_EQUAL(first, 0);
  set_error_handler({});
}

}  // namespace
}  // namespace anyplace::conformance::errors_cases
