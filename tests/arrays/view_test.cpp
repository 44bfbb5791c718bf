// SPDX-License-Identifier: Apache-2.0
// What a view names: what it may reach, and what is cut out of it.
#include <limits>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/errors.h"

namespace view_test {

using anyplace::ArrayPlace;
using anyplace::ArrayView;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::DType;
using anyplace::ErrorCode;
using anyplace::Extents;

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// 24 numbers of the host, 0 to 23, as 2 x 3 x 4.
struct Numbers {
  std::vector<std::int32_t> memory = [] {
    std::vector<std::int32_t> made(24);
    for (int i = 0; i < 24; ++i) made[static_cast<std::size_t>(i)] = i;
    return made;
  }();
  ArrayView view = ArrayView::on_host(memory, DType::i32, {2, 3, 4});
};

/// The elements in the order of their indices.
std::vector<std::int32_t> elements(const ArrayView& view) {
  std::vector<std::int32_t> all;
  std::vector<std::int64_t> index(view.ndim());
  for (std::int64_t n = 0; n < view.size(); ++n) {
    std::int64_t rest = n, at = 0;
    for (std::size_t i = view.ndim(); i-- != 0;) {
      at += rest % view.shape()[i] * view.strides()[i];
      rest /= view.shape()[i];
    }
    all.push_back(reinterpret_cast<const std::int32_t*>(static_cast<std::uintptr_t>(view.address().value()))[at]);
  }
  return all;
}

using Values = std::vector<std::int32_t>;

TEST_CASE("a view knows its type, shape, strides, size and place") {
  const Numbers numbers;
  CHECK(numbers.view.dtype() == DType::i32);
  CHECK(numbers.view.shape() == Extents{2, 3, 4});
  CHECK(numbers.view.strides() == Extents{12, 4, 1});
  CHECK(numbers.view.ndim() == 3);
  CHECK(numbers.view.size() == 24);
  CHECK(numbers.view.size(-1) == 4);
  CHECK(numbers.view.size_bytes() == 96);
  CHECK(numbers.view.is_contiguous());
  CHECK(numbers.view.place() == ArrayPlace::host());
  CHECK(numbers.view.place().to_string() == "host");
  CHECK(numbers.view.address() == anyplace::Address(numbers.memory.data()));
  CHECK(numbers.view.shape().to_string() == "(2, 3, 4)");
  CHECK(test::code_of([&] { static_cast<void>(numbers.view.device()); }) == ErrorCode::invalid_argument);
}

TEST_CASE("a view of a buffer is on the buffer's device, at its address") {
  const Device device("cpu_sim:1");
  const Buffer buffer(device, 1024);
  const ArrayView view(buffer.sub(256), DType::f64, {4, 5}, {5, 1}, 2);
  CHECK(view.place() == ArrayPlace(device));
  CHECK(view.address().value() == buffer.address() + 256 + 16);
  CHECK(view.buffer() == buffer.sub(256));
  CHECK(ArrayView(buffer.as<float>()).shape() == Extents{256});
  CHECK(ArrayView(buffer.as<float>()).dtype() == DType::f32);
}

TEST_CASE("an array without dimensions has one element, one with an extent of 0 none") {
  std::vector<double> one(1);
  const ArrayView scalar = ArrayView::on_host(one, DType::f64, {});
  CHECK(scalar.size() == 1);
  CHECK(scalar.is_contiguous());
  const ArrayView none = ArrayView::on_host({nullptr, 0}, DType::f64, {3, 0, 5});
  CHECK(none.size() == 0);
  CHECK(none.address() == anyplace::Address());
  CHECK(none.is_contiguous());
  CHECK(ArrayView(anyplace::BufferView(), DType::f64, {0}).size() == 0);
}

TEST_CASE("select, slice, permute and reshape name the elements that they should") {
  const Numbers numbers;
  CHECK(elements(numbers.view.select(0, 1).select(1, -1)) == Values{15, 19, 23});
  CHECK(elements(numbers.view.slice(2, 1, 3).select(0, 0)) == Values{1, 2, 5, 6, 9, 10});
  CHECK(elements(numbers.view.select(0, 0).select(0, 0).slice(0, 0, 4, 2)) == Values{0, 2});
  CHECK(elements(numbers.view.select(0, 0).select(0, 0).slice(0, -1, -5, -1)) == Values{3, 2, 1, 0});
  CHECK(elements(numbers.view.select(0, 0).select(0, 0).slice(0, 3, 0, -2)) == Values{3, 1});
  const ArrayView turned = numbers.view.permute({2, 0, 1});
  CHECK(turned.shape() == Extents{4, 2, 3});
  CHECK(elements(turned.select(0, 1)) == Values{1, 5, 9, 13, 17, 21});
  CHECK_FALSE(turned.is_contiguous());
  CHECK(numbers.view.reshape({6, -1}).shape() == Extents{6, 4});
  CHECK(elements(numbers.view.reshape({-1})) == elements(numbers.view));
  CHECK(numbers.view.slice(0, 1, 1).size() == 0);
}

TEST_CASE("reshape sees what strides can express, and refuses the rest with the shapes") {
  const Numbers numbers;
  const ArrayView halves = numbers.view.slice(2, 0, 2);  // 2 x 3 x 2, lines of 4
  CHECK(elements(halves.reshape({6, 2})) == elements(halves));
  CHECK(elements(halves.reshape({2, 3, 1, 2, 1})) == elements(halves));
  const anyplace::Error error = test::required_error(ErrorCode::invalid_argument, [&] { halves.reshape({12}); });
  CHECK(error.text().find("(2, 3, 2)") != std::string::npos);
  CHECK(error.remedy().find("contiguous") != std::string::npos);
  const ArrayView columns = numbers.view.permute({2, 1, 0});
  CHECK(elements(columns.reshape({2, 2, 3, 2})) == elements(columns));
  CHECK(test::code_of([&] { columns.reshape({4, 6}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("strides of 0 and negative ones are fine within the memory") {
  Numbers numbers;
  const ArrayView same = ArrayView::on_host(numbers.memory, DType::i32, {3, 2}, {0, 1}, 5);
  CHECK(elements(same) == Values{5, 6, 5, 6, 5, 6});
  const ArrayView down = ArrayView::on_host(numbers.memory, DType::i32, {24}, {-1}, 23);
  CHECK(elements(down).front() == 23);
  CHECK(elements(down).back() == 0);
  CHECK(down.range_begin() == anyplace::Address(numbers.memory.data()));
  CHECK(down.range_bytes() == 96);
}

TEST_CASE("what doesn't lie within the memory is refused") {
  Numbers numbers;
  struct Case {
    const char* what;
    Extents shape, strides;
    std::int64_t offset;
  };
  const Case cases[] = {
      {"one too many", {25}, {1}, 0},
      {"one too far", {24}, {1}, 1},
      {"below the beginning", {2}, {-1}, 0},
      {"beyond the end", {2, 2}, {23, 1}, 0},
      {"an offset below", {1}, {1}, -1},
      {"an offset that no number holds", {1}, {1}, huge},
      {"a stride that no number holds", {3}, {huge}, 0},
      {"the lowest number", {2}, {std::numeric_limits<std::int64_t>::min()}, 0},
      {"two reaches that add up to nothing", {2, 2}, {huge / 4, huge / 4}, 0},
  };
  for (const Case& each : cases) {
    INFO(each.what);
    CHECK(test::code_of([&] {
            ArrayView::on_host(numbers.memory, DType::i32, each.shape, each.strides, each.offset);
          }) == ErrorCode::invalid_argument);
  }
  const Buffer buffer(Device("cpu_sim:0"), 64);
  const anyplace::Error error =
      test::required_error(ErrorCode::invalid_argument, [&] { ArrayView(buffer, DType::f32, {17}); });
  CHECK(error.place() == "cpu_sim:0");
  CHECK(error.text().find("(17,)") != std::string::npos);
}

TEST_CASE("shapes that are none are refused") {
  Numbers numbers;
  const auto refused = [&](const Extents& shape, const Extents& strides) {
    return test::code_of([&] { ArrayView::on_host(numbers.memory, DType::i32, shape, strides); }) ==
           ErrorCode::invalid_argument;
  };
  CHECK(refused({-1}, {1}));
  CHECK(refused({2, 3}, {1}));
  CHECK(refused({huge, huge}, {0, 0}));
  CHECK(refused({huge, huge, 0}, {0, 0, 0}));
  CHECK(test::code_of([] { Extents(std::vector<std::int64_t>(33, 1)); }) == ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { ArrayView::on_host(numbers.memory, static_cast<DType>(99), {1}); }) ==
        ErrorCode::invalid_argument);
  CHECK(test::code_of([] { ArrayView::on_host({nullptr, 8}, DType::u8, {8}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("memory that is misaligned for its type is refused") {
  Numbers numbers;
  auto* const bytes = reinterpret_cast<std::byte*>(numbers.memory.data());
  CHECK(test::code_of([&] { ArrayView::on_host({bytes + 2, 8}, DType::i32, {2}); }) == ErrorCode::invalid_argument);
  CHECK(ArrayView::on_host({bytes + 2, 8}, DType::i16, {4}).size() == 4);
  CHECK(ArrayView::on_host({bytes + 4, 16}, DType::c64, {2}).size() == 2);
  const Buffer buffer(Device("cpu_sim:0"), 64);
  CHECK(test::code_of([&] { ArrayView(buffer.sub(2), DType::f32, {1}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("an address is looked up, and bounded by the allocation that it is in") {
  const Device device("cpu_sim:0");
  const Buffer buffer(device, 1024);
  const ArrayView view = ArrayView::at(device, buffer.address() + 512, DType::f32, {16, 4}, {4, 1});
  CHECK(view.address().value() == buffer.address() + 512);
  CHECK_FALSE(view.buffer());
  const auto code = [&](std::uint64_t address, const Extents& shape, const Extents& strides) {
    return test::code_of([&] { ArrayView::at(device, address, DType::f32, shape, strides); });
  };
  CHECK(code(buffer.address() + 512, {129}, {1}) == ErrorCode::invalid_argument);
  CHECK(code(buffer.address(), {2}, {-1}) == ErrorCode::invalid_argument);
  CHECK(code(0, {1}, {1}) == ErrorCode::invalid_argument);
  CHECK(code(buffer.address() + 1, {1}, {1}) == ErrorCode::invalid_argument);
  CHECK(code(UINT64_MAX - 3, {2}, {1}) == ErrorCode::invalid_argument);
  CHECK(code(4, {2}, {-2}) == ErrorCode::invalid_argument);
  CHECK(code(0, {0}, {1}) == ErrorCode::ok);
}

TEST_CASE("dimensions, indices and orders that aren't there are refused") {
  const Numbers numbers;
  const auto refused = [](const auto& call) { return test::code_of(call) == ErrorCode::invalid_argument; };
  CHECK(refused([&] { numbers.view.select(3, 0); }));
  CHECK(refused([&] { numbers.view.select(-4, 0); }));
  CHECK(refused([&] { numbers.view.select(0, 2); }));
  CHECK(refused([&] { numbers.view.select(0, -3); }));
  CHECK(refused([&] { numbers.view.slice(0, 0, 3); }));
  CHECK(refused([&] { numbers.view.slice(0, 1, 0); }));
  CHECK(refused([&] { numbers.view.slice(0, 0, 1, 0); }));
  CHECK(refused([&] { numbers.view.slice(0, 0, 1, -1); }));
  CHECK(refused([&] { numbers.view.permute({0, 1}); }));
  CHECK(refused([&] { numbers.view.permute({0, 1, 1}); }));
  CHECK(refused([&] { numbers.view.permute({0, 1, 3}); }));
  CHECK(refused([&] { numbers.view.reshape({-1, -1}); }));
  CHECK(refused([&] { numbers.view.reshape({5, -1}); }));
  CHECK(refused([&] { numbers.view.reshape({25}); }));
  CHECK(refused([&] { ArrayView().select(0, 0); }));
  CHECK(refused([&] { static_cast<void>(ArrayView().place()); }));
}

TEST_CASE("a view of a buffer that is gone is refused, not used") {
  ArrayView view;
  {
    const Buffer buffer(Device("cpu_sim:0"), 64);
    view = ArrayView(buffer, DType::f32, {16});
  }
  CHECK(test::code_of([&] { static_cast<void>(view.address()); }) == ErrorCode::invalid_handle);
}

}  // namespace view_test
