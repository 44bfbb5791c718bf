// SPDX-License-Identifier: Apache-2.0
// Collectives within the process: operations of several devices, made of copies of lines, copies between devices,
// events that other streams wait for, and kernels if the device takes an image of the library's.
#include <algorithm>

#include "support.h"

namespace anyplace::conformance::collectives_cases {
namespace {

using Numbers = std::vector<std::int32_t>;

constexpr std::int64_t large = 300'007;  // more than a block of any kernel, and a multiple of nothing

Numbers counted(std::int64_t count, std::int32_t first = 0) {
  Numbers numbers(static_cast<std::size_t>(count));
  for (std::int32_t& each : numbers) each = first++;
  return numbers;
}

ArrayView view(Numbers& numbers, const Extents& shape) { return ArrayView::on_host(numbers, DType::i32, shape); }

/// Uploads on the device's current stream.
Array upload(const Device& device, Numbers numbers, const Extents& shape) {
  const Array array = CALL(Array(device, DType::i32, shape));
  CALL(copy(array.stream(), array, view(numbers, shape)));
  array.stream().synchronize();
  return array;
}
Array upload(const Device& device, Numbers numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return upload(device, std::move(numbers), {count});
}

/// Reads in the order of the array's stream.
Numbers read(const Array& array) {
  Numbers numbers(static_cast<std::size_t>(array.size()));
  CALL(copy(array.stream(), view(numbers, array.shape()), array));
  CALL(array.stream().synchronize());
  return numbers;
}

void check_broadcast(const Device& from, const Device& to) {
  const Array array = upload(from, counted(large));
  const std::vector<Array> copies = CALL(comm::broadcast(array, {.devices = {from, to, from}}));
  CHECK_EQUAL(copies.size(), 3u);
  for (const Array& each : copies) CHECK(read(each) == counted(large));
}

void check_sum(const Device& a, const Device& b) {
  const Array first = upload(a, counted(large)), second = upload(b, counted(large, 5));
  Numbers expected(static_cast<std::size_t>(large));
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = 2 * static_cast<std::int32_t>(i) + 5;
  const Array on_a = CALL(comm::reduce_add({first, second}, a));
  CHECK(read(on_a) == expected);
  const Array on_b = CALL(comm::reduce_add({first, second}, b));
  CHECK(read(on_b) == expected);
}

/// Checks that a 60 x 70 array that is scattered along each dimension is gathered again on both devices and on the
/// host.
void check_pieces(const Device& a, const Device& b) {
  const Array array = upload(a, counted(60 * 70), {60, 70});
  for (std::int64_t dim = 0; dim < 2; ++dim) {
    const std::vector<Array> pieces = CALL(comm::scatter(array, {.devices = {b, a, b}}, {.dim = dim}));
    CHECK_EQUAL(pieces.size(), 3u);
    for (const ArrayPlace& place : {ArrayPlace(a), ArrayPlace(b), ArrayPlace::host()}) {
      const Array together = CALL(comm::gather(pieces, dim, {.destination = place}));
      CHECK(together.place() == place);
      CHECK(read(together) == counted(60 * 70));
    }
  }
}

ANYPLACE_CASE("collectives", "collectives.broadcast",
              "an array is broadcast on one device, and each copy is all of it") {
  check_broadcast(run.device(), run.device());
}

ANYPLACE_CASE("collectives", "collectives.broadcast", "an array is broadcast to a second device", second_device) {
  check_broadcast(run.device(), run.second());
}

ANYPLACE_CASE("collectives", "collectives.broadcast", "an array is broadcast to another backend, and back",
              other_backend) {
  check_broadcast(run.device(), run.other());
  check_broadcast(run.other(), run.device());
}

ANYPLACE_CASE("collectives", "collectives.broadcast",
              "small arrays are broadcast together, and arrive as separate arrays", second_device) {
  const Device device = run.device(), second = run.second();
  const std::vector<Array> arrays{upload(device, counted(3)), upload(device, counted(100, 50), {10, 10}),
                                  upload(device, counted(large, 7)),
                                  upload(device, counted(6), {2, 3}).permute({1, 0})};
  const std::vector<std::vector<Array>> copies = CALL(comm::broadcast_coalesced(arrays, {device, second}));
  for (std::size_t i = 0; i < arrays.size(); ++i) CHECK(read(copies[1][i]) == read(arrays[i]));
}

ANYPLACE_CASE("collectives", "collectives.reduce", "arrays of one device are added, however many") {
  const Device device = run.device();
  std::vector<Array> inputs;
  for (std::int32_t count = 1; count <= 18; ++count) {
    inputs.push_back(upload(device, counted(1003, count)));
    if (count != 2 && count != 8 && count != 9 && count != 18) continue;
    Numbers expected(1003);
    for (std::int32_t i = 0; i < 1003; ++i) expected[static_cast<std::size_t>(i)] = count * i + count * (count + 1) / 2;
    const Array sum = CALL(comm::reduce_add(inputs, device));
    CHECK(read(sum) == expected);
  }
}

ANYPLACE_CASE("collectives", "collectives.reduce", "arrays of two devices are added on either", second_device) {
  check_sum(run.device(), run.second());
}

ANYPLACE_CASE("collectives", "collectives.reduce", "arrays of two backends are added on either", other_backend) {
  check_sum(run.device(), run.other());
}

ANYPLACE_CASE("collectives", "collectives.pieces", "an array that was scattered on one device is gathered again") {
  check_pieces(run.device(), run.device());
}

ANYPLACE_CASE("collectives", "collectives.pieces", "an array that was scattered over two devices is gathered again",
              second_device) {
  check_pieces(run.device(), run.second());
}

ANYPLACE_CASE("collectives", "collectives.pieces", "an array that was scattered over two backends is gathered again",
              other_backend) {
  check_pieces(run.device(), run.other());
}

/// Checks a broadcast of what a stream that is held back will write and will overwrite later.
void check_order(const Device& from, const Device& to) {
  HostGate gate;
  const Stream source = CALL(Stream(from)), target = CALL(Stream(to));
  const StreamGuard source_guard{StreamView(source)}, target_guard{StreamView(target)};
  const Array array(source, DType::i32, {large}), out(target, DType::i32, {large});
  gate.hold(source);
  CALL(source.memset32(array.buffer(), 5));
  CALL(comm::broadcast(array, {.out = {out}}));
  CALL(source.memset32(array.buffer(), 6));
  CHECK_STAYS_FALSE(target.query());
  gate.open();
  CHECK(read(out) == Numbers(static_cast<std::size_t>(large), 5));
  CHECK(read(array) == Numbers(static_cast<std::size_t>(large), 6));
}

ANYPLACE_CASE("collectives", "collectives.order",
              "a broadcast to a second device waits for the source's stream, whose later work waits for the broadcast",
              second_device, Capability::host_functions) {
  check_order(run.device(), run.second());
}

ANYPLACE_CASE("collectives", "collectives.order",
              "a broadcast to another backend waits for the source's stream, whose later work waits for the broadcast",
              other_backend, Capability::host_functions) {
  check_order(run.device(), run.other());
}

ANYPLACE_CASE("collectives", "collectives.order", "a sum waits for the earlier work of other devices' streams",
              second_device, Capability::host_functions) {
  const Device device = run.device(), second = run.second();
  HostGate gate;
  const Stream stream = CALL(Stream(second)), other = CALL(Stream(device));
  const StreamGuard guard{StreamView(stream)}, other_guard{StreamView(other)};
  const Array near(other, DType::i32, {large}), far(stream, DType::i32, {large});
  CALL(comm::reduce_add({near, far}, device));  // loads everything that is loaded at first use before the gate closes
  CALL(other.memset32(near.buffer(), 1));
  gate.hold(stream);
  CALL(stream.memset32(far.buffer(), 2));
  const Array sum = CALL(comm::reduce_add({near, far}, device));
  CALL(stream.memset32(far.buffer(), 50));
  CHECK_STAYS_FALSE(other.query());
  gate.open();
  CHECK(read(sum) == Numbers(static_cast<std::size_t>(large), 3));
}

ANYPLACE_CASE("collectives", "collectives.arguments",
              "devices, shapes, types and sizes that don't fit are refused, and nothing is written") {
  const Device device = run.device();
  const Array array = upload(device, counted(6), {2, 3}), out = upload(device, counted(6, 100), {2, 3});
  CHECK_ERROR(invalid_argument, comm::broadcast(array, {}));
  CHECK_ERROR(invalid_argument, comm::broadcast(array, {.devices = {device}, .out = {out}}));
  CHECK_ERROR(invalid_argument, comm::broadcast(array, {.out = {out, out}}));
  CHECK_ERROR(invalid_argument, comm::broadcast(array, {.out = {out.reshape({6})}}));
  CHECK_ERROR(invalid_argument, comm::reduce_add({}, device));
  CHECK_ERROR(invalid_argument, comm::reduce_add({array, out.reshape({6})}, device));
  CHECK_ERROR(invalid_argument, comm::reduce_add({array, Array(device, DType::f32, {2, 3})}, device));
  CHECK_ERROR(invalid_argument, comm::scatter(array, {.devices = {device}}, {.chunk_sizes = {1}}));
  CHECK_ERROR(invalid_argument, comm::scatter(array, {.devices = {device}}, {.dim = 2}));
  CHECK_ERROR(invalid_argument, comm::gather({}));
  CHECK_ERROR(invalid_argument, comm::gather({array, out}, 0, {.destination = device, .out = out}));
  CHECK(read(out) == counted(6, 100));
}

}  // namespace
}  // namespace anyplace::conformance::collectives_cases
