// SPDX-License-Identifier: Apache-2.0
//
// Which device a call is for doesn't depend on the thread that makes it.
#include <thread>
#include <vector>

#include "support.h"

namespace context_test {

using namespace vendor_test;

TEST_CASE("The native context is the one that other libraries get") {
  const Double driver;
  const Device device(place(0));
  NativeContext theirs = nullptr;
  const std::uint64_t ours = device.native_context();
  REQUIRE(vendor<Result(NativeContext*, int)>(call::retain_context)(&theirs, 0) == result::success);
  CHECK(reinterpret_cast<NativeContext>(ours) == theirs);
  REQUIRE(vendor<Result(int)>(call::release_context)(0) == result::success);
}

TEST_CASE("A stream that belongs to one device works from a thread that uses another") {
  const Double driver;
  const Device device(place(0)), other(place(1));
  const Stream stream(device);
  const Buffer numbers(stream, 4096);
  std::vector<std::uint32_t> back(1024);
  std::thread([&] {
    anyplace::set_current_device(other);
    stream.memset32(numbers, 3);
    stream.copy(back, numbers);
    stream.synchronize();
  }).join();
  CHECK(back == std::vector<std::uint32_t>(1024, 3));
}

}  // namespace context_test
