// SPDX-License-Identifier: Apache-2.0
// Collectives over devices of several backends at once: cpu_sim, one without peer copies, and what is built of the
// vendors' backends over the doubles of their libraries.
#include <dlfcn.h>

#include <cstdlib>

#include "comm/support.h"

namespace mixed_test {

using namespace comm_test;
namespace comm = anyplace::comm;

/// The devices that there are. A double that is loaded already is what its backend finds.
std::vector<Device> mixed_devices() {
  ::setenv("HIP_DOUBLE_ARCH", "gfx000", 1);
  ::setenv("LEVELZERO_DOUBLE_SPIRV", "255.0", 1);
  std::vector<Device> all{Device("cpu_sim:0"), Device("sim_plain:0")};
  const char* const doubles[][2] = {
      {COMM_CUDA_DOUBLE, "cuda"}, {COMM_HIP_DOUBLE, "hip"}, {COMM_LEVELZERO_DOUBLE, "levelzero"}};
  for (const auto& [library, backend] : doubles) {
    if (*library == '\0') continue;
    REQUIRE(::dlopen(library, RTLD_NOW | RTLD_LOCAL) != nullptr);
    all.emplace_back(std::string(backend) + ":0");
    all.emplace_back(std::string(backend) + ":1");
  }
  return all;
}

TEST_CASE("an array is broadcast from every backend to every other") {
  const std::vector<Device> all = mixed_devices();
  for (std::size_t first = 0; first < all.size(); ++first) {
    std::vector<Device> order = all;
    std::swap(order[0], order[first]);
    const Array array = upload(order[0], counted(999));
    const std::vector<Array> results = comm::broadcast(array, {.devices = order});
    for (const Array& each : results) {
      INFO(order[0].to_string() << " to " << each.device().to_string());
      CHECK(read(each) == counted(999));
    }
  }
}

TEST_CASE("arrays of all backends are added on each, by its own kernels") {
  const std::vector<Device> all = mixed_devices();
  std::vector<Array> inputs;
  const auto count = static_cast<std::int32_t>(all.size());
  for (std::int32_t i = 0; i < count; ++i) inputs.push_back(upload(all[static_cast<std::size_t>(i)], counted(1001, i)));
  Ints expected;
  for (std::int32_t i = 0; i < 1001; ++i) expected.push_back(count * i + count * (count - 1) / 2);
  for (const Device& device : all) {
    INFO(device.to_string());
    const Array sum = comm::reduce_add(inputs, device);
    CHECK(sum.device() == device);
    CHECK(read(sum) == expected);
  }
}

TEST_CASE("more arrays than a pass has are added on each backend") {
  for (const Device& device : mixed_devices()) {
    INFO(device.to_string());
    const std::vector<Array> inputs(20, upload(device, counted(1001)));
    Ints expected;
    for (std::int32_t i = 0; i < 1001; ++i) expected.push_back(20 * i);
    CHECK(read(comm::reduce_add(inputs, device)) == expected);
  }
}

TEST_CASE("lists of small arrays cross the backends together") {
  const std::vector<Device> all = mixed_devices();
  const std::vector<Array> arrays{upload(all[0], counted(5)), upload(all[0], std::vector<float>{1, 2, 3}),
                                  upload(all[0], counted(3, 100))};
  const std::vector<std::vector<Array>> copies = comm::broadcast_coalesced(arrays, all);
  const std::vector<Array> sums = comm::reduce_add_coalesced(copies, all.back());
  const auto count = static_cast<std::int32_t>(all.size());
  CHECK(read(sums[0]) == Ints{0, count, 2 * count, 3 * count, 4 * count});
  CHECK(read<float>(sums[1]) == std::vector<float>{float(count), float(2 * count), float(3 * count)});
  CHECK(read(sums[2]) == Ints{100 * count, 101 * count, 102 * count});
}

TEST_CASE("an array is scattered over all backends and gathered on each and on the host") {
  const std::vector<Device> all = mixed_devices();
  const Array array = upload(all[0], counted(30 * 7), {30, 7});
  for (std::int64_t dim = 0; dim < 2; ++dim) {
    const std::vector<Array> pieces = comm::scatter(array, {.devices = all}, {.dim = dim});
    CHECK(read(comm::gather(pieces, dim, {.destination = ArrayPlace::host()})) == counted(30 * 7));
    for (const Device& device : all) {
      INFO(device.to_string() << ", dimension " << dim);
      CHECK(read(comm::gather(pieces, dim, {.destination = device})) == counted(30 * 7));
    }
  }
}

TEST_CASE("events between backends keep the order of what is added") {
  const std::vector<Device> all = mixed_devices();
  const Device near = all.front(), far = all.back();
  const Stream first(near), second(far);
  const anyplace::StreamGuard first_guard{StreamView(first)}, second_guard{StreamView(second)};
  const Array a(first, DType::i32, {4096}), b(second, DType::i32, {4096});
  test::HostGate gate;
  gate.block(second);
  first.memset32(a.buffer(), 1);
  second.memset32(b.buffer(), 2);
  const Array sum = comm::reduce_add({a, b}, near);
  second.memset32(b.buffer(), 50);
  CHECK_FALSE(first.query());
  gate.open();
  CHECK(read(sum) == Ints(4096, 3));
}

}  // namespace mixed_test
