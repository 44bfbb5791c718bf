// SPDX-License-Identifier: Apache-2.0
// Many small arrays at once.
#include "comm/support.h"

namespace coalesced_test {

using namespace comm_test;
namespace comm = anyplace::comm;

TEST_CASE("arrays of several types, shapes and sizes are broadcast together, and come back in their order") {
  const std::vector<Device> all = devices(3);
  const std::vector<Array> arrays{
      upload(all[0], counted(6), {2, 3}),         upload(all[0], std::vector<double>{1, 2, 3}),
      upload(all[0], counted(0), {0, 7}),         upload(all[0], counted(100, 50)),
      upload(all[0], std::vector<double>{4}, {}), upload(all[0], counted(4, 7), {2, 2}).permute({1, 0}),
  };
  for (const std::uint64_t buffer_size : {std::uint64_t{0}, std::uint64_t{64}, comm::default_buffer_size}) {
    INFO(buffer_size);
    const std::vector<std::vector<Array>> results = comm::broadcast_coalesced(arrays, all, buffer_size);
    REQUIRE(results.size() == 3);
    CHECK(results[0] == arrays);
    for (std::size_t i = 0; i < 3; ++i) {
      REQUIRE(results[i].size() == arrays.size());
      for (std::size_t k = 0; k < arrays.size(); ++k) {
        INFO("device " << i << ", array " << k);
        CHECK(results[i][k].place() == ArrayPlace(all[i]));
        REQUIRE(results[i][k].shape() == arrays[k].shape());
        REQUIRE(results[i][k].dtype() == arrays[k].dtype());
        if (arrays[k].dtype() == DType::f64) {
          CHECK(read<double>(results[i][k]) == read<double>(arrays[k]));
        } else {
          CHECK(read(results[i][k]) == read(arrays[k]));
        }
      }
    }
  }
}

TEST_CASE("small arrays share an allocation, one that is larger than the buffer has its own") {
  const std::vector<Device> all = devices(2);
  const std::vector<Array> arrays{upload(all[0], counted(4)), upload(all[0], counted(4)), upload(all[0], counted(100))};
  const std::vector<Array> results = comm::broadcast_coalesced(arrays, all, 64)[1];
  CHECK(results[1].address().value() == results[0].address().value() + 16);
  CHECK(results[2].buffer() != results[0].buffer());
}

TEST_CASE("no arrays are broadcast to lists of none") {
  CHECK(comm::broadcast_coalesced({}, devices(2)) == std::vector<std::vector<Array>>(2));
}

TEST_CASE("lists of arrays are added one by one, in buffers of any size") {
  const std::vector<Device> all = devices(3);
  std::vector<std::vector<Array>> inputs;
  for (std::int32_t i = 0; i < 3; ++i) {
    const Device& device = all[static_cast<std::size_t>(i)];
    inputs.push_back({upload(device, counted(6, i), {2, 3}), upload(device, std::vector<float>{1.5f * float(i)}),
                      upload(device, counted(5, 10 * i))});
  }
  for (const std::uint64_t buffer_size : {std::uint64_t{0}, std::uint64_t{30}, comm::default_buffer_size}) {
    INFO(buffer_size);
    const std::vector<Array> sums = comm::reduce_add_coalesced(inputs, all[1], buffer_size);
    REQUIRE(sums.size() == 3);
    CHECK(sums[0].shape() == Extents{2, 3});
    CHECK(sums[0].place() == ArrayPlace(all[1]));
    CHECK(read(sums[0]) == Ints{3, 6, 9, 12, 15, 18});
    CHECK(read<float>(sums[1]) == std::vector<float>{4.5f});
    CHECK(read(sums[2]) == Ints{30, 33, 36, 39, 42});
  }
  CHECK(comm::reduce_add_coalesced({{}, {}}).empty());
}

}  // namespace coalesced_test
