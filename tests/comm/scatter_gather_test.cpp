// SPDX-License-Identifier: Apache-2.0
// Cutting arrays in pieces, and putting pieces together.
#include "comm/support.h"

namespace scatter_gather_test {

using namespace comm_test;
namespace comm = anyplace::comm;

std::vector<std::int64_t> extents(const std::vector<Array>& arrays, std::int64_t dim) {
  std::vector<std::int64_t> all;
  for (const Array& each : arrays) all.push_back(each.size(dim));
  return all;
}

TEST_CASE("pieces are as equal as torch's chunk makes them") {
  const Device device("cpu_sim:0");
  const auto sizes = [&](std::int64_t extent, int count) {
    return extents(comm::scatter(upload(device, counted(extent)), {.devices = devices(count)}), 0);
  };
  using Sizes = std::vector<std::int64_t>;
  CHECK(sizes(8, 4) == Sizes{2, 2, 2, 2});
  CHECK(sizes(7, 4) == Sizes{2, 2, 2, 1});
  CHECK(sizes(5, 4) == Sizes{2, 2, 1});  // as few as that takes
  CHECK(sizes(2, 4) == Sizes{1, 1});
  CHECK(sizes(0, 4) == Sizes{0});
}

TEST_CASE("pieces go to their devices; the one for the array's own device is a view") {
  const std::vector<Device> all = devices(3);
  const Array array = upload(all[1], counted(12), {4, 3});
  const std::vector<Array> pieces = comm::scatter(array, {.devices = all}, {.chunk_sizes = {1, 2, 1}});
  REQUIRE(pieces.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(pieces[i].place() == ArrayPlace(all[i]));
  CHECK(read(pieces[0]) == counted(3));
  CHECK(read(pieces[1]) == counted(6, 3));
  CHECK(read(pieces[2]) == counted(3, 9));
  CHECK(pieces[1].address().value() == array.address().value() + 12);
}

TEST_CASE("a dimension may be any, counted from either end") {
  const std::vector<Device> all = devices(2);
  const Array array = upload(all[0], counted(6), {2, 3});
  for (const std::int64_t dim : {std::int64_t{1}, std::int64_t{-1}}) {
    const std::vector<Array> pieces = comm::scatter(array, {.devices = all}, {.dim = dim});
    CHECK(read(pieces[0]) == Ints{0, 1, 3, 4});
    CHECK(read(pieces[1]) == Ints{2, 5});
    CHECK(read(comm::gather(pieces, dim, {.destination = all[1]})) == counted(6));
  }
}

TEST_CASE("chunk sizes may be 0") {
  const Array array = upload(Device("cpu_sim:0"), counted(4));
  CHECK(extents(comm::scatter(array, {.devices = devices(3)}, {.chunk_sizes = {4, 0, 0}}), 0) ==
        std::vector<std::int64_t>{4, 0, 0});
}

TEST_CASE("an array of the host is scattered") {
  Ints values = counted(6);
  const Array array = Array::share(host_view(values, {6}), {}, nullptr);
  const std::vector<Array> pieces = comm::scatter(array, {.devices = devices(2)});
  CHECK(read(pieces[0]) == counted(3));
  CHECK(read(pieces[1]) == counted(3, 3));
}

TEST_CASE("pieces are made on the streams that are given, and on the current ones where none is") {
  const std::vector<Device> all = devices(3);
  const Stream first(all[1]), current(all[2]);
  const anyplace::StreamGuard guard{StreamView(current)};
  const Array array = upload(all[0], counted(6));
  const std::vector<Array> pieces =
      comm::scatter(array, {.devices = all}, {.streams = {anyplace::current_stream(all[0]), first, {}}});
  CHECK(pieces[1].stream() == first);
  CHECK(pieces[2].stream() == current);
  CHECK(read(pieces[1]) == counted(2, 2));
  CHECK(read(pieces[2]) == counted(2, 4));
}

TEST_CASE("scatter writes into arrays that are given") {
  const std::vector<Device> all = devices(2);
  const Array array = upload(all[0], counted(12), {4, 3});
  const std::vector<Array> out{Array(all[0], DType::i32, {3, 3}), Array(all[1], DType::i32, {1, 3})};
  const std::vector<Array> results = comm::scatter(array, {.out = out});
  CHECK(results[0] == out[0]);
  CHECK(read(out[0]) == counted(9));
  CHECK(read(out[1]) == counted(3, 9));
}

TEST_CASE("what was scattered is gathered again, on any device and on the host") {
  const std::vector<Device> all = devices(4);
  const Array array = upload(all[0], counted(24), {4, 6});
  for (std::int64_t dim = 0; dim < 2; ++dim) {
    const std::vector<Array> pieces = comm::scatter(array, {.devices = all}, {.dim = dim});
    for (const Device& device : all) {
      const Array together = comm::gather(pieces, dim, {.destination = device});
      CHECK(together.place() == ArrayPlace(device));
      CHECK(together.is_contiguous());
      CHECK(read(together) == counted(24));
    }
    const Array of_host = comm::gather(pieces, dim, {.destination = ArrayPlace::host()});
    CHECK(of_host.is_on_host());
    CHECK(read(of_host) == counted(24));
    CHECK(comm::gather(pieces, dim).place() == ArrayPlace(all[0]));  // the current device
    const Array out(all[2], DType::i32, {4, 6});
    CHECK(comm::gather(pieces, dim, {.out = out}) == out);
    CHECK(read(out) == counted(24));
  }
}

TEST_CASE("a gather comes after what its inputs' streams were given, and before what they are given later") {
  const std::vector<Device> all = devices(2);
  const Stream first(all[0]), second(all[1]);
  const anyplace::StreamGuard first_guard{StreamView(first)}, second_guard{StreamView(second)};
  const Array a(first, DType::i32, {1024}), b(second, DType::i32, {1024});
  test::HostGate gate;
  gate.block(second);
  first.memset32(a.buffer(), 1);
  second.memset32(b.buffer(), 2);
  const Array of_device = comm::gather({a, b}, 0, {.destination = all[0]});
  const Array of_host = comm::gather({b, a}, 0, {.destination = ArrayPlace::host()});
  second.memset32(b.buffer(), 50);
  first.memset32(a.buffer(), 50);
  CHECK_FALSE(first.query());
  gate.open();
  Ints expected(1024, 1);
  expected.resize(2048, 2);
  CHECK(read(of_device) == expected);
  Ints turned(1024, 2);
  turned.resize(2048, 1);
  CHECK(read(of_host) == turned);
}

}  // namespace scatter_gather_test
