// SPDX-License-Identifier: Apache-2.0
//
// The context that a device's work is in.
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

}  // namespace context_test
