// SPDX-License-Identifier: Apache-2.0
// Copies between arrays of any two layouts, on a device, between devices and with the host.
#include <numeric>
#include <random>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace copy_test {

using anyplace::Array;
using anyplace::ArrayView;
using anyplace::Device;
using anyplace::DType;
using anyplace::ErrorCode;
using anyplace::Extents;
using anyplace::Stream;

using Numbers = std::vector<std::uint16_t>;

Numbers counted(std::size_t count) {
  Numbers made(count);
  std::iota(made.begin(), made.end(), std::uint16_t{1});
  return made;
}

/// What a copy has to do, element by element, between memories that begin where the whole arrays do.
void expect(Numbers& to, const ArrayView& to_view, const ArrayView& to_whole, const Numbers& from,
            const ArrayView& from_view, const ArrayView& from_whole) {
  for (std::int64_t n = 0; n < to_view.size(); ++n) {
    std::int64_t rest = n;
    auto to_at = static_cast<std::int64_t>(to_view.address().value() - to_whole.address().value()) / 2;
    auto from_at = static_cast<std::int64_t>(from_view.address().value() - from_whole.address().value()) / 2;
    for (std::size_t i = to_view.ndim(); i-- != 0;) {
      const std::int64_t index = rest % to_view.shape()[i];
      rest /= to_view.shape()[i];
      to_at += index * to_view.strides()[i];
      from_at += index * from_view.strides()[i];
    }
    to[static_cast<std::size_t>(to_at)] = from[static_cast<std::size_t>(from_at)];
  }
}

/// Of the array's device; any for the host.
Stream stream_for(const Array& array) { return Stream(array.is_on_host() ? Device("cpu_sim:0") : array.device()); }

void write(const Array& array, const Numbers& numbers) {
  const Stream stream = stream_for(array);
  anyplace::copy(stream, array, ArrayView::on_host(const_cast<Numbers&>(numbers), DType::u16, array.shape()));
  stream.synchronize();
}

Numbers read(const Stream& stream, const Array& array) {
  Numbers numbers(static_cast<std::size_t>(array.size()));
  anyplace::copy(stream, ArrayView::on_host(numbers, DType::u16, array.shape()), array);
  stream.synchronize();
  return numbers;
}

/// A part of a 6 x 5 x 4 array, in some order.
ArrayView cut(const ArrayView& whole, std::mt19937& random, bool both_ways) {
  ArrayView view = whole.slice(0, 1, 5, 2).slice(1, 1, 4).slice(2, random() % 2, 4, 2);
  std::vector<std::int64_t> order{0, 1, 2};
  std::shuffle(order.begin(), order.end(), random);
  if (both_ways && random() % 2 != 0) view = view.slice(1, -1, -view.size(1) - 1, -1);
  return view.permute(order);
}

TEST_CASE("any layout is copied to any other of the same shape, with memory of the host and of two devices") {
  const Device near("cpu_sim:0"), far("cpu_sim:1");
  const Stream stream(near);
  std::mt19937 random(1);
  const Extents whole{6, 5, 4};
  int copied = 0;
  for (int round = 0; round < 200; ++round) {
    const Array on_near(stream, DType::u16, whole), on_far(Stream(far), DType::u16, whole);
    const Array of_host = Array::on_host(stream, DType::u16, whole), also = Array::on_host(stream, DType::u16, whole);
    const Array* const pairs[][2] = {
        {&on_near, &of_host}, {&of_host, &on_near}, {&on_near, &on_far}, {&on_far, &on_near}, {&of_host, &also}};
    const Array& to = *pairs[round % 5][0];
    const Array& from = *pairs[round % 5][1];
    const ArrayView to_part = cut(to, random, true), from_part = cut(from, random, true);
    if (to_part.shape() != from_part.shape()) continue;
    ++copied;
    Numbers expected(120, 0);
    const Numbers numbers = counted(120);
    write(from, numbers);
    write(to, Numbers(120, 0));
    anyplace::copy(stream, to_part, from_part);
    expect(expected, to_part, to, numbers, from_part, from);
    stream.synchronize();
    REQUIRE(read(stream_for(to), to) == expected);
  }
  CHECK(copied > 20);
}

TEST_CASE("a transpose is a copy") {
  const Stream stream(Device("cpu_sim:0"));
  const Numbers numbers = counted(12);
  const Array matrix(stream, DType::u16, {3, 4}), turned(stream, DType::u16, {4, 3});
  anyplace::copy(stream, matrix, ArrayView::on_host(const_cast<Numbers&>(numbers), DType::u16, {3, 4}));
  anyplace::copy(stream, turned, matrix.permute({1, 0}));
  CHECK(read(stream, turned) == Numbers{1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12});
}

TEST_CASE("a source may have its elements many times") {
  const Stream stream(Device("cpu_sim:0"));
  Numbers one = counted(1);
  const Array array(stream, DType::u16, {2, 3});
  anyplace::copy(stream, array, ArrayView::on_host(one, DType::u16, {2, 3}, {0, 0}));
  CHECK(read(stream, array) == Numbers{1, 1, 1, 1, 1, 1});
}

TEST_CASE("memory that is known by its address is copied like a buffer's") {
  const Stream stream(Device("cpu_sim:0"));
  const Array array(stream, DType::u16, {8});
  const ArrayView by_address = ArrayView::at(stream.device(), array.address(), DType::u16, {4}, {2});
  Numbers numbers = counted(8);
  anyplace::copy(stream, array, ArrayView::on_host(numbers, DType::u16, {8}));
  const Array part(stream, DType::u16, {4});
  anyplace::copy(stream, part, by_address);
  CHECK(read(stream, part) == Numbers{1, 3, 5, 7});
  anyplace::copy(stream, by_address, part.slice(0, -1, -5, -1));
  CHECK(read(stream, array) == Numbers{7, 2, 5, 4, 3, 6, 1, 8});
}

TEST_CASE("a copy waits in its stream, not on the host") {
  const Stream stream(Device("cpu_sim:0"));
  const Array from(stream, DType::u16, {4, 4}), to(stream, DType::u16, {4, 4});
  test::HostGate gate;
  gate.block(stream);
  stream.memset16(from.buffer(), 5);
  anyplace::copy(stream, to, from.permute({1, 0}));
  CHECK_FALSE(stream.query());
  gate.open();
  CHECK(read(stream, to) == Numbers(16, 5));
}

TEST_CASE("a copy of no elements is none") {
  const Stream stream(Device("cpu_sim:0"));
  anyplace::copy(stream, Array(stream, DType::u16, {0, 3}), Array(stream, DType::u16, {0, 3}));
}

TEST_CASE("copies that can't be are refused before anything is submitted") {
  const Device device("cpu_sim:0"), other("cpu_sim:1");
  const Stream stream(device);
  const Array a(stream, DType::u16, {4, 4}), b(stream, DType::u16, {4, 4});
  test::HostGate gate;
  gate.block(stream);
  const auto refused = [&](const ArrayView& to, const ArrayView& from) {
    return test::code_of([&] { anyplace::copy(stream, to, from); }) == ErrorCode::invalid_argument;
  };
  CHECK(refused(ArrayView(), b));
  CHECK(refused(a, ArrayView()));
  CHECK(refused(a, b.reshape({16})));
  CHECK(refused(a, Array(stream, DType::i16, {4, 4})));
  CHECK(refused(a.as_read_only(), b));
  CHECK(refused(ArrayView(a.buffer(), DType::u16, {4, 4}, {0, 1}), b));
  CHECK(refused(a, a));
  CHECK(refused(a.slice(0, 0, 2), a.slice(0, 1, 3)));
  const Array far(other, DType::u16, {4, 4}), farther(other, DType::u16, {4, 4});
  CHECK(refused(far, farther));
  gate.open();
  stream.synchronize();
  anyplace::copy(stream, a.slice(0, 0, 2), a.slice(0, 2, 4).as_read_only());
  stream.synchronize();
}

TEST_CASE("a copy is part of a capture") {
  const Stream stream(Device("cpu_sim:0"));
  const Array from(stream, DType::u16, {3, 5}), to(stream, DType::u16, {5, 3});
  stream.memset16(from.buffer(), 3);
  stream.begin_capture();
  anyplace::copy(stream, to, from.permute({1, 0}));
  const anyplace::Graph graph = stream.end_capture();
  const anyplace::GraphExec exec = graph.instantiate();
  exec.launch(stream);
  CHECK(read(stream, to) == Numbers(15, 3));
}

}  // namespace copy_test
