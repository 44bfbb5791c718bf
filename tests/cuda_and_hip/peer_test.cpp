// SPDX-License-Identifier: Apache-2.0
//
// Peer access: between devices, in the pool and in mappings, and what another library enabled.
#include "support.h"

namespace peer_test {

namespace {

using namespace vendor_test;

void check_copy(const Device& device, const Device& peer) {
  const Stream here(device), there(peer);
  const Buffer a(here, 4096), b(there, 4096);
  std::vector<std::uint32_t> back(1024);
  there.memset32(b, 5);
  here.wait_stream(there);
  here.copy(a, b);
  b.record_stream(here);
  here.copy(back, a);
  here.synchronize();
  CHECK(back == std::vector<std::uint32_t>(1024, 5));
}

/// A kernel of `device` that writes memory of `peer`.
void check_kernel(const Device& device, const Device& peer) {
  const Module module = load(device, read_image(any_image));
  const Stream here(device), there(peer);
  const Buffer theirs(there, 256 * 4);
  std::vector<std::uint32_t> back(256);
  there.synchronize();
  here.launch(module.kernel("fill"), {4, 64}, theirs.address(), 256u, 8u);
  here.synchronize();
  there.copy(back, theirs);
  there.synchronize();
  CHECK(back == std::vector<std::uint32_t>(256, 8));
}

}  // namespace

TEST_CASE("A kernel reaches memory of a peer that was allocated before and after access was enabled") {
  const Double driver;
  const Device device(place(0)), peer(place(1));
  CHECK(device.can_access_peer(peer));
  { const Buffer first(Stream(peer), 4096); }  // the peer's pool is there before
  device.enable_peer_access(peer);
  check_kernel(device, peer);
}

TEST_CASE("Access that another library enabled stays enabled") {
  const Double driver;
  const Device device(place(0)), peer(place(1));
  REQUIRE(enable_as_another_library(device, peer) == result::success);
  device.enable_peer_access(peer);
  device.disable_peer_access(peer);
  CHECK(enable_as_another_library(device, peer) == result::peer_access_already_enabled);
}

TEST_CASE("Access that was enabled here is gone when it is disabled") {
  const Double driver;
  const Device device(place(0)), peer(place(1));
  device.enable_peer_access(peer);
  CHECK(enable_as_another_library(device, peer) == result::peer_access_already_enabled);
  device.disable_peer_access(peer);
  CHECK(enable_as_another_library(device, peer) == result::success);
}

TEST_CASE("Devices that can not reach each other say so and still copy") {
  const Double driver({{DOUBLE_VARIABLE("PEERS"), "0"}});
  const Device device(place(0)), peer(place(1));
  CHECK_FALSE(device.can_access_peer(peer));
  CHECK(test::code_of([&] { device.enable_peer_access(peer); }) == ErrorCode::unsupported);
  check_copy(device, peer);
}

TEST_CASE("Access that fails half way is taken back") {
  const Double driver;
  const Device device(place(0)), peer(place(1));
  { const Buffer first(Stream(peer), 4096); }
  REQUIRE(driver.fail_nth(call::set_pool_access, 1, result::out_of_memory));
  CHECK(test::code_of([&] { device.enable_peer_access(peer); }) == ErrorCode::out_of_memory);
  CHECK(enable_as_another_library(device, peer) == result::success);
}

}  // namespace peer_test
