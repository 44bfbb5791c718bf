// SPDX-License-Identifier: Apache-2.0
//
// Streams as HIP alone has them: those of other devices, and destroying one, which waits.
#include <cstdint>
#include <thread>

#include "support.h"

namespace {

using namespace hip_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Stream;

hipStream_t native(anyplace::StreamView stream) { return reinterpret_cast<hipStream_t>(stream.native_handle()); }

}  // namespace

TEST_CASE("A stream of another library is wrapped and left alone") {
  const Double hip;
  const Device device("hip:0");
  hipStream_t theirs = nullptr;
  REQUIRE(vendor<hipError_t(hipStream_t*, unsigned)>("hipStreamCreateWithFlags")(&theirs, 0) == hipSuccess);
  {
    const Stream wrapped = Stream::from_native(device, reinterpret_cast<std::uint64_t>(theirs));
    CHECK(native(wrapped) == theirs);
    const Buffer numbers(wrapped, 4096);
    wrapped.memset32(numbers, 1);
    wrapped.synchronize();
  }
  CHECK(vendor<hipError_t(hipStream_t)>("hipStreamSynchronize")(theirs) == hipSuccess);
  CHECK(vendor<hipError_t(hipStream_t)>("hipStreamDestroy")(theirs) == hipSuccess);
}

TEST_CASE("A stream of another device or of nobody is not wrapped") {
  const Double hip;
  const Device device("hip:0"), other("hip:1");
  const Stream elsewhere(other);
  const auto error = test::error_of([&] { Stream::from_native(device, elsewhere.native_handle()); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK_THAT(error->what(), contains("hip:1"));
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

TEST_CASE("A stream that is destroyed with nothing pending goes at once") {
  const Double hip;
  const Device device("hip:0");
  { const Stream stream(device); }
  CHECK(hip.calls_of("hipStreamDestroy") == 1);
}
