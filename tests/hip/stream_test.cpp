// SPDX-License-Identifier: Apache-2.0
//
// Streams as HIP alone has them: those of other devices, and destroying one, which waits.
#include <cstdint>
#include <thread>

#include "cuda_and_hip/support.h"

namespace stream_test {

using namespace vendor_test;

TEST_CASE("A stream of another device or of nobody is not wrapped") {
  const Double hip;
  const Device device("hip:0"), other("hip:1");
  const Stream elsewhere(other);
  const anyplace::Error error = test::required_error(ErrorCode::invalid_argument,
                                                     [&] { Stream::from_native(device, elsewhere.native_handle()); });
  CHECK_THAT(error.what(), contains("hip:1"));
  CHECK(test::error_of([&] { Stream::from_native(device, 0x1234); }).has_value());
}

TEST_CASE("A stream that is destroyed with work pending is destroyed at HIP when that is over") {
  const Double hip;
  const Device device("hip:0");
  const Buffer numbers(Stream(device), 4096);
  device.synchronize();
  const std::uint64_t before = hip.calls_of("hipStreamDestroy");
  const std::uint64_t alive = hip.live("stream");
  hip.hold(0, true);
  {
    const Stream stream(device);
    stream.memset32(numbers, 1);
  }
  // HIP would wait: it isn't told yet.
  CHECK(hip.calls_of("hipStreamDestroy") == before);
  hip.hold(0, false);
  device.synchronize();
  // Nobody asks any more: it goes all the same.
  while (hip.live("stream") != alive) std::this_thread::yield();
  CHECK(hip.calls_of("hipStreamDestroy") == before + 1);
}

}  // namespace stream_test
