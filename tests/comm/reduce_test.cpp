// SPDX-License-Identifier: Apache-2.0
// reduce_add: every type, every number of inputs, wherever they are; and without a kernel.
#include <cmath>
#include <cstring>
#include <limits>

#include "comm/support.h"

namespace reduce_test {

using namespace comm_test;
namespace comm = anyplace::comm;

TEST_CASE("arrays of several devices are added on the destination") {
  const std::vector<Device> all = devices(8);
  std::vector<Array> inputs;
  for (std::int32_t i = 0; i < 8; ++i) inputs.push_back(upload(all[static_cast<std::size_t>(i)], counted(1000, i)));
  const Array sum = comm::reduce_add(inputs, all[3]);
  CHECK(sum.place() == ArrayPlace(all[3]));
  Ints expected;
  for (std::int32_t i = 0; i < 1000; ++i) expected.push_back(8 * i + 28);
  CHECK(read(sum) == expected);
  CHECK(read(inputs[0]) == counted(1000));
}

TEST_CASE("any number of inputs is added") {
  const Device device("cpu_sim:0");
  std::vector<Array> inputs;
  for (std::int32_t count = 1; count <= 23; ++count) {
    inputs.push_back(upload(device, Ints{count, 1}));
    INFO(count);
    CHECK(read(comm::reduce_add(inputs, device)) == Ints{count * (count + 1) / 2, count});
  }
}

TEST_CASE("a single input is the sum itself") {
  const Array array = upload(Device("cpu_sim:0"), counted(4));
  CHECK(comm::reduce_add({array}, Device("cpu_sim:0")) == array);
}

TEST_CASE("without a destination the sum is on the current device") {
  const std::vector<Device> all = devices(2);
  const std::vector<Array> inputs{upload(all[0], counted(4)), upload(all[1], counted(4))};
  CHECK(comm::reduce_add(inputs).place() == ArrayPlace(all[0]));
  const anyplace::DeviceGuard guard(all[1]);
  CHECK(comm::reduce_add(inputs).place() == ArrayPlace(all[1]));
}

template <class T>
std::vector<T> sum_of(const std::string& place, const std::vector<T>& a, const std::vector<T>& b) {
  const Device device(place);
  return read<T>(comm::reduce_add({upload(device, a), upload(device, b)}, device));
}

/// Types without one in C++, by their bits.
std::vector<std::uint16_t> sum_of_bits(const std::string& place, DType dtype,
                                       std::vector<std::vector<std::uint16_t>> all) {
  const Device device(place);
  std::vector<Array> inputs;
  for (std::vector<std::uint16_t>& each : all) {
    const Array array = upload(device, each);
    inputs.push_back(Array::share(ArrayView(array.buffer(), dtype, array.shape()), array.stream(),
                                  std::make_shared<const Array>(array)));
  }
  const Array sum = comm::reduce_add(inputs, device);
  return read<std::uint16_t>(
      Array::share(ArrayView(sum.buffer(), DType::u16, sum.shape()), sum.stream(), std::make_shared<const Array>(sum)));
}

/// What is added the same on every device, with kernels and without.
void check_types(const std::string& place) {
  INFO(place);
  CHECK(sum_of<float>(place, {1.5f, -2.0f}, {0.25f, 2.0f}) == std::vector<float>{1.75f, 0.0f});
  CHECK(sum_of<double>(place, {0.1, 1e300}, {0.2, 1.0}) == std::vector<double>{0.1 + 0.2, 1e300});
  CHECK(sum_of<std::complex<float>>(place, {{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}) ==
        std::vector<std::complex<float>>{{6, 8}, {10, 12}});
  CHECK(sum_of<std::complex<double>>(place, {{1, 2}}, {{5, 6}}) == std::vector<std::complex<double>>{{6, 8}});
  CHECK(sum_of<std::int8_t>(place, {127, -3}, {1, -4}) == std::vector<std::int8_t>{-128, -7});
  CHECK(sum_of<std::uint8_t>(place, {250, 1}, {10, 2}) == std::vector<std::uint8_t>{4, 3});
  CHECK(sum_of<std::int16_t>(place, {32767}, {1}) == std::vector<std::int16_t>{-32768});
  CHECK(sum_of<std::uint16_t>(place, {65535}, {2}) == std::vector<std::uint16_t>{1});
  CHECK(sum_of<std::int32_t>(place, {INT32_MAX}, {1}) == std::vector<std::int32_t>{INT32_MIN});
  CHECK(sum_of<std::uint32_t>(place, {UINT32_MAX}, {2}) == std::vector<std::uint32_t>{1});
  CHECK(sum_of<std::int64_t>(place, {INT64_MAX}, {1}) == std::vector<std::int64_t>{INT64_MIN});
  CHECK(sum_of<std::uint64_t>(place, {UINT64_MAX}, {2}) == std::vector<std::uint64_t>{1});
  CHECK(sum_of<std::uint16_t>(place, std::vector<std::uint16_t>(70'001, 5), std::vector<std::uint16_t>(70'001, 6)) ==
        std::vector<std::uint16_t>(70'001, 11));
  using Bits = std::vector<std::uint16_t>;
  // 1 + 2, the least subnormal twice, 65504 + 65504, infinity - infinity, 2049 is rounded to even, -0 + -0.
  CHECK(sum_of_bits(
            place, DType::f16,
            {{0x3c00, 0x0001, 0x7bff, 0x7c00, 0x6800, 0x8000}, {0x4000, 0x0001, 0x7bff, 0x7c00, 0x3c00, 0x8000}}) ==
        Bits{0x4200, 0x0002, 0x7c00, 0x7c00, 0x6800, 0x8000});
  CHECK((sum_of_bits(place, DType::f16, {{0x7c00}, {0xfc00}})[0] & 0x7c00) == 0x7c00);
  // Three are added as f32: 2048 + 1 + 1 is 2050, where rounding in between would leave 2048.
  CHECK(sum_of_bits(place, DType::f16, {{0x6800}, {0x3c00}, {0x3c00}}) == Bits{0x6801});
  // 1 + 2, 256 + 1 is rounded to even, and so is 256 + 3; the largest twice is infinity.
  CHECK(sum_of_bits(place, DType::bf16, {{0x3f80, 0x4380, 0x4380, 0x7f7f}, {0x4000, 0x3f80, 0x4040, 0x7f7f}}) ==
        Bits{0x4040, 0x4380, 0x4382, 0x7f80});
  CHECK((sum_of_bits(place, DType::bf16, {{0x7f80}, {0xff80}})[0] & 0x7fff) > 0x7f80);
}

TEST_CASE("every type is added as it should be, with the kernels") { check_types("cpu_sim:0"); }

TEST_CASE("a device that takes no image of the kernels has the host add") { check_types("no_images:0"); }

TEST_CASE("a device that computes no doubles has the host add them") { check_types("sim_singles:0"); }

TEST_CASE("a device without kernels, pinned memory and peer copies has the host add") { check_types("sim_bare:0"); }

TEST_CASE("bool is or, and what isn't 0 is true") {
  for (const char* const place : {"cpu_sim:0", "no_images:0"}) {
    const Device device(place);
    std::vector<Array> inputs;
    for (const std::vector<std::uint8_t>& each : {std::vector<std::uint8_t>{0, 1, 1, 0}, {0, 0, 1, 2}}) {
      const Array array = upload(device, each);
      inputs.push_back(Array::share(ArrayView(array.buffer(), DType::boolean, {4}), array.stream(),
                                    std::make_shared<const Array>(array)));
    }
    const Array sum = comm::reduce_add(inputs, device);
    const Array bytes = Array::share(ArrayView(sum.buffer(), DType::u8, {4}), sum.stream(), nullptr);
    CHECK(read<std::uint8_t>(bytes) == std::vector<std::uint8_t>{0, 1, 1, 1});
  }
}

TEST_CASE("every half and bfloat16 number plus zero is itself") {
  std::vector<std::uint16_t> all(65536), zeros(65536, 0);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const std::uint16_t exponent = dtype == DType::f16 ? 0x7c00 : 0x7f80;
    const std::vector<std::uint16_t> sums = sum_of_bits("cpu_sim:0", dtype, {all, zeros});
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_nan = (all[i] & 0x7fff) > exponent;
      const bool is_zero = (all[i] & 0x7fff) == 0;  // -0 + 0 is 0
      wrong += is_nan ? (sums[i] & 0x7fff) <= exponent : sums[i] != (is_zero ? 0 : all[i]);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("inputs with strides, and inputs that begin at odd addresses, are added") {
  const std::vector<Device> all = devices(2);
  const Array a = upload(all[0], counted(6), {2, 3}).permute({1, 0});
  const Array b = upload(all[1], counted(7)).slice(0, 1, 7).reshape({3, 2});
  CHECK(read(comm::reduce_add({a, b}, all[0])) == Ints{1, 5, 4, 8, 7, 11});
  CHECK(read(comm::reduce_add({a, b}, all[1])) == Ints{1, 5, 4, 8, 7, 11});
}

TEST_CASE("a sum of no elements is none") {
  const Device device("cpu_sim:0");
  const Array none(device, DType::f32, {0});
  CHECK(comm::reduce_add({none, none}, device).size() == 0);
}

TEST_CASE("a sum comes after what its inputs' streams were given, and before what they are given later") {
  const std::vector<Device> all = devices(2);
  const Stream first(all[0]), second(all[1]);
  const anyplace::StreamGuard first_guard{StreamView(first)}, second_guard{StreamView(second)};
  const Array a(first, DType::i32, {4096}), b(second, DType::i32, {4096});
  test::HostGate gate;
  gate.block(second);
  first.memset32(a.buffer(), 1);
  second.memset32(b.buffer(), 2);
  const Array sum = comm::reduce_add({a, b}, all[0]);
  second.memset32(b.buffer(), 50);
  first.memset32(a.buffer(), 50);
  CHECK_FALSE(first.query());
  gate.open();
  CHECK(read(sum) == Ints(4096, 3));
  CHECK(read(b) == Ints(4096, 50));
}

TEST_CASE("a sum is part of a capture") {
  const std::vector<Device> all = devices(2);
  const Stream stream(all[0]), second(all[1]);
  const anyplace::StreamGuard guard{StreamView(stream)}, second_guard{StreamView(second)};
  const Array a = upload(all[0], counted(8)), b = upload(all[1], counted(8)), out(all[0], DType::i32, {8});
  static_cast<void>(comm::reduce_add({a, b}, all[0]));  // the kernels are loaded
  stream.begin_capture();
  {
    const Array sum = comm::reduce_add({a, b}, all[0]);
    anyplace::copy(stream, out, sum);
  }
  const anyplace::GraphExec exec = stream.end_capture().instantiate();
  exec.launch(stream);
  CHECK(read(out) == Ints{0, 2, 4, 6, 8, 10, 12, 14});
  second.memset32(b.buffer(), 100);
  second.synchronize();
  exec.launch(stream);
  CHECK(read(out) == Ints{100, 101, 102, 103, 104, 105, 106, 107});
}

}  // namespace reduce_test
