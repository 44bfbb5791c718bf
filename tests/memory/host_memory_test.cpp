// SPDX-License-Identifier: Apache-2.0
// Pinned and registered host memory.
#include "memory/memory_support.h"

namespace host_memory_test {

using namespace anyplace;
using namespace memory_test;

TEST_CASE("Pinned memory moves and is freed once") {
  without_cache();
  const Device device("sim_full:0");
  Controls& controls = controls_of(device);
  {
    HostBuffer first(device, 100);
    std::byte* const data = first.data();
    HostBuffer second(std::move(first));
    CHECK_FALSE(first);  // NOLINT: the moved-from state is promised
    CHECK(second.data() == data);
    HostBuffer third(device, 50);
    third = std::move(second);
    CHECK(controls.frees == 1);
    CHECK(third.data() == data);
    CHECK(third.size() == 100);
    HostBuffer& same = third;
    third = std::move(same);
    CHECK(third.data() == data);
  }
  CHECK(controls.frees == 2);
}

TEST_CASE("A device without pinned memory or registration says so") {
  const Device device("sim_bare:0");
  Bytes bytes(100);
  CHECK_THAT(refused(ErrorCode::unsupported, [&] { const HostBuffer host(device, 100); }),
             Catch::Contains("pinned_memory"));
  refused(ErrorCode::unsupported, [&] { const HostBuffer host(device, 0); });
  CHECK_THAT(refused(ErrorCode::unsupported, [&] { const HostRegistration registration(device, bytes); }),
             Catch::Contains("host_register"));
}

TEST_CASE("Pinned memory that no host has is out of memory") {
  const Device device("cpu_sim:0");
  for (const std::uint64_t bytes : {std::uint64_t{1} << 60, UINT64_MAX}) {
    const Error error = error_of([&] { const HostBuffer host(device, bytes); });
    CHECK(error.code() == ErrorCode::out_of_memory);
    REQUIRE(error.memory().has_value());
    CHECK(error.memory()->requested == bytes);
  }
}

TEST_CASE("Registered memory stays its owner's and can be registered again when it is over") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Bytes bytes = pattern(4096);
  const Bytes before = bytes;
  {
    HostRegistration registration(device, bytes);
    refused(ErrorCode::invalid_argument, [&] { const HostRegistration again(device, bytes); });
    const Buffer buffer(stream, bytes.size());
    stream.copy(buffer, bytes);
    CHECK(download(stream, buffer) == bytes);
    HostRegistration moved(std::move(registration));
    registration = std::move(moved);
  }
  CHECK(bytes == before);
  CHECK_NOTHROW(HostRegistration(device, bytes));
}

TEST_CASE("Registering nothing is nothing and a null pointer is an invalid argument") {
  const Device device("cpu_sim:0");
  CHECK_NOTHROW(HostRegistration(device, HostSpan()));
  CHECK_NOTHROW(HostRegistration());
  refused(ErrorCode::invalid_argument, [&] { const HostRegistration registration(device, HostSpan(nullptr, 8)); });
}

TEST_CASE("Host memory let go of inside a host function is given back") {
  without_cache();
  const Device device("sim_full:0");
  Controls& controls = controls_of(device);
  const Stream stream(device);
  auto pinned = std::make_shared<HostBuffer>(device, 100);
  Bytes bytes(4096);
  auto registration = std::make_shared<HostRegistration>(device, bytes);
  stream.launch_host_func([a = std::move(pinned), b = std::move(registration)]() mutable {
    a.reset();
    b.reset();
  });
  stream.synchronize();
  device.synchronize();
  CHECK(controls.frees == 1);
  // The service thread unregisters; until then registering again is refused.
  const auto try_again = [&] {
    try {
      const HostRegistration again(device, bytes);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  while (!try_again()) std::this_thread::yield();
  SUCCEED();
}

}  // namespace host_memory_test
