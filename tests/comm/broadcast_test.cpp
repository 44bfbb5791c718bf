// SPDX-License-Identifier: Apache-2.0
// broadcast: a copy on each device, and what waits for what.
#include "comm/support.h"

namespace broadcast_test {

using namespace comm_test;
namespace comm = anyplace::comm;

TEST_CASE("broadcast copies an array to the other devices, and gives itself to its own") {
  const std::vector<Device> all = devices(4);
  const Array array = upload(all[0], counted(12), {3, 4});
  const std::vector<Array> results = comm::broadcast(array, {.devices = all});
  REQUIRE(results.size() == 4);
  CHECK(results[0] == array);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(results[i].place() == ArrayPlace(all[i]));
    CHECK(results[i].shape() == Extents{3, 4});
    CHECK(read(results[i]) == counted(12));
  }
  CHECK(results[1].address() != array.address());
}

TEST_CASE("an array of the host is broadcast to all devices") {
  Ints values = counted(6);
  const Array array = Array::share(host_view(values, {6}), {}, nullptr);
  const std::vector<Array> results = comm::broadcast(array, {.devices = devices(3)});
  REQUIRE(results.size() == 3);
  for (const Array& each : results) CHECK(read(each) == counted(6));
}

TEST_CASE("a device that is named twice gets two copies") {
  const Device device("cpu_sim:0");
  const Array array = upload(device, counted(3));
  const std::vector<Array> results = comm::broadcast(array, {.devices = {device, device, Device("cpu_sim:1")}});
  CHECK(results[0].address() == array.address());
  CHECK(results[1].address() != array.address());
  for (const Array& each : results) CHECK(read(each) == counted(3));
}

TEST_CASE("broadcast writes into arrays that are given, of any strides") {
  const Array array = upload(Device("cpu_sim:0"), counted(6), {2, 3});
  const Array first(Device("cpu_sim:1"), DType::i32, {3, 2});
  const Array second(Device("cpu_sim:0"), DType::i32, {2, 3});
  const std::vector<Array> out{first.permute({1, 0}), second};
  const std::vector<Array> results = comm::broadcast(array, {.out = out});
  CHECK(results[0] == out[0]);
  CHECK(read(results[0]) == counted(6));
  CHECK(read(first) == Ints{0, 3, 1, 4, 2, 5});
  CHECK(read(second) == counted(6));
}

TEST_CASE("an array with strides is broadcast") {
  const Array array = upload(Device("cpu_sim:0"), counted(6), {2, 3}).permute({1, 0});
  CHECK(read(comm::broadcast(array, {.devices = devices(2)})[1]) == Ints{0, 3, 1, 4, 2, 5});
}

TEST_CASE("an array of no elements is broadcast") {
  const Array array(Device("cpu_sim:0"), DType::f32, {0, 3});
  CHECK(comm::broadcast(array, {.devices = devices(2)})[1].shape() == Extents{0, 3});
}

TEST_CASE("a broadcast comes after what its stream was given before, and before what it is given later") {
  const Device from("cpu_sim:0"), to("cpu_sim:1");
  const Stream source(from), target(to);
  const anyplace::StreamGuard source_guard{StreamView(source)}, target_guard{StreamView(target)};
  const Array array(source, DType::i32, {1024});
  test::HostGate gate;
  gate.block(source);
  source.memset32(array.buffer(), 5);
  const std::vector<Array> results = comm::broadcast(array, {.devices = {from, to}});
  source.memset32(array.buffer(), 6);  // must not be seen by the copy
  CHECK(results[1].stream() == target);
  CHECK_FALSE(source.query());
  CHECK_FALSE(target.query());
  gate.open();
  CHECK(read(results[1]) == Ints(1024, 5));
  CHECK(read(array) == Ints(1024, 6));
}

TEST_CASE("a broadcast is part of a capture, which other devices' streams join") {
  const Device from("cpu_sim:0"), to("cpu_sim:1");
  const Stream source(from), target(to);
  const anyplace::StreamGuard source_guard{StreamView(source)}, target_guard{StreamView(target)};
  const Array array = upload(from, counted(8)), out(to, DType::i32, {8});
  source.begin_capture();
  comm::broadcast(array, {.out = {out}});
  const anyplace::GraphExec exec = source.end_capture().instantiate();
  target.memset32(out.buffer(), 0);
  target.synchronize();
  exec.launch(source);
  source.synchronize();
  CHECK(read(out) == counted(8));
}

TEST_CASE("memory that was broadcast may go in the order of its stream") {
  const Device from("cpu_sim:0"), to("cpu_sim:1");
  const Stream source(from), target(to);
  const anyplace::StreamGuard source_guard{StreamView(source)}, target_guard{StreamView(target)};
  test::HostGate gate;
  gate.block(target);
  std::vector<Array> results;
  {
    const Array array(source, DType::i32, {4096});
    source.memset32(array.buffer(), 9);
    results = comm::broadcast(array, {.devices = {from, to}});
    results.erase(results.begin());
  }
  const Array next(source, DType::i32, {4096});
  source.memset32(next.buffer(), 1);
  gate.open();
  CHECK(read(results[0]) == Ints(4096, 9));
}

}  // namespace broadcast_test
