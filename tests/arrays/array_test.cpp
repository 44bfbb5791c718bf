// SPDX-License-Identifier: Apache-2.0
// Who owns the memory of an array, and for how long.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace array_test {

using anyplace::Array;
using anyplace::ArrayView;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::DType;
using anyplace::ErrorCode;
using anyplace::Extents;
using anyplace::Stream;

TEST_CASE("an array is made on a stream, and shares its memory with its copies and views") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Array row;
  {
    const Array array(stream, DType::f32, {4, 8});
    CHECK(array.stream() == stream);
    CHECK(array.place() == anyplace::ArrayPlace(device));
    CHECK(array.size_bytes() == 128);
    row = array.select(0, 2);
    CHECK(row.address().value() == array.address().value() + 64);
  }
  CHECK(row.address().value() != 0);  // the buffer is still there
  CHECK(row.stream() == stream);
  const ArrayView view = row;
  row = Array();
  CHECK(test::code_of([&] { static_cast<void>(view.address()); }) == ErrorCode::invalid_handle);
}

TEST_CASE("an array on a device is made on the current stream") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const anyplace::StreamGuard guard(stream);
  CHECK(Array(device, DType::u8, {3}).stream() == stream);
}

TEST_CASE("an array of no elements has no memory, but a device") {
  const Stream stream(Device("cpu_sim:1"));
  const Array array(stream, DType::f32, {0, 4});
  CHECK(array.size() == 0);
  CHECK(array.device() == stream.device());
  CHECK(array.slice(1, 1, 2).shape() == Extents{0, 1});
}

TEST_CASE("a buffer that becomes an array's goes with it") {
  const Stream stream(Device("cpu_sim:0"));
  Buffer buffer(stream, 64);
  const anyplace::BufferView view = buffer;
  {
    const Array array = Array::own(std::move(buffer), stream, DType::i16, {32});
    CHECK(array.buffer() == view);
  }
  CHECK(test::code_of([&] { static_cast<void>(view.address()); }) == ErrorCode::invalid_handle);
  Buffer other(Device("cpu_sim:1"), 64);
  CHECK(test::code_of([&] { Array::own(std::move(other), stream, DType::i16, {32}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("somebody else's memory goes with the last array that uses it") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer(stream, 64);
  bool gone = false;
  {
    Array kept;
    {
      const std::shared_ptr<const void> owner(buffer.sub(0).operator bool() ? &gone : nullptr,
                                              [&gone](const void*) { gone = true; });
      const Array array = Array::share(ArrayView(buffer, DType::f32, {16}), stream, owner);
      kept = array.slice(0, 4, 8);
    }
    CHECK_FALSE(gone);
  }
  CHECK(gone);
  const ArrayView view(buffer, DType::f32, {16});
  const Stream other(Device("cpu_sim:1"));
  CHECK(test::code_of([&] { Array::share(view, other, nullptr); }) == ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { Array::share(view, {}, nullptr); }) == ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { Array::share(ArrayView(), stream, nullptr); }) == ErrorCode::invalid_argument);
}

TEST_CASE("an array of the host is pinned for the stream's device") {
  const Stream stream(Device("cpu_sim:0"));
  const Array array = Array::on_host(stream, DType::f64, {5});
  CHECK(array.is_on_host());
  CHECK(anyplace::pointer_attributes(array.address()).kind == anyplace::AddressKind::pinned);
}

TEST_CASE("an array whose memory work still uses goes without a wait, and its memory is not given out before") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  test::HostGate gate;
  gate.block(stream);
  std::uint64_t address = 0;
  {
    const Array array(stream, DType::u8, {1 << 16});
    address = array.address().value();
    stream.memset8(array.buffer(), 7);
  }
  const Stream other(device);
  const Array next(other, DType::u8, {1 << 16});
  CHECK(next.address().value() != address);
  gate.open();
  stream.synchronize();
}

TEST_CASE("shapes that no memory holds are refused before there is any") {
  const Stream stream(Device("cpu_sim:0"));
  CHECK(test::code_of([&] { Array(stream, DType::f32, {-2}); }) == ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { Array(stream, DType::f32, {INT64_MAX, 2}); }) == ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { Array(stream, DType::f32, {INT64_MAX / 4}); }) == ErrorCode::out_of_memory);
  CHECK(test::code_of([&] { Array(anyplace::StreamView(), DType::f32, {1}); }) == ErrorCode::invalid_handle);
}

TEST_CASE("an array that was moved from is null, and names no memory that it doesn't own") {
  const Stream stream(Device("cpu_sim:0"));
  Array first(stream, DType::i32, {16});
  const anyplace::Address address = first.address();
  Array second(std::move(first));
  CHECK(!first);  // NOLINT: the moved-from state is promised
  CHECK(!first.stream());
  CHECK(first == ArrayView());
  CHECK(test::code_of([&] { anyplace::copy(stream, first, second); }) == ErrorCode::invalid_argument);
  CHECK(second.address() == address);
  Array third;
  third = std::move(second);
  CHECK(!second);  // NOLINT
  CHECK(third.address() == address);
  Array& same = third;
  third = std::move(same);
  CHECK(third.address() == address);
  CHECK(third.stream() == stream);
}

TEST_CASE("an array takes views of its own memory alone") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Array array(stream, DType::i32, {16}), other(stream, DType::i32, {16});
  const Array part = array.slice(0, 4, 8);
  CHECK(part.with(ArrayView(array.buffer(), DType::u8, {64})).size() == 64);
  CHECK(part.with(ArrayView::at(device, array.address(), DType::i16, {32})).size() == 32);
  CHECK(array.with(ArrayView::at(device, {}, DType::i32, {0})).size() == 0);

  std::vector<std::int32_t> memory(16);
  const ArrayView host = ArrayView::on_host(memory, DType::i32, {16});
  const Array shared = Array::share(host.slice(0, 4, 8), {}, nullptr);
  CHECK(shared.with(ArrayView::on_host(anyplace::HostSpan(memory.data() + 4, 16), DType::u8, {16})).size() == 16);
  const auto refused = [](const Array& owner, const ArrayView& view) {
    return test::required_error(ErrorCode::invalid_argument, [&] { static_cast<void>(owner.with(view)); });
  };
  for (const ArrayView& view : {ArrayView(other), host, ArrayView()}) refused(array, view);
  refused(shared, host);
  refused(shared, host.slice(0, 3, 8));
  refused(shared, host.slice(0, 4, 9));
  refused(Array(), array);
  CHECK(std::string(refused(array, other).what()).find("Array::share") != std::string::npos);
}

}  // namespace array_test
