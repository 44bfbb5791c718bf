// SPDX-License-Identifier: Apache-2.0
// What is refused, and what the error says. Nothing is drawn then.
#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "random/random_support.h"

namespace bad_input_test {

using namespace anyplace;
using test::required_error;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Bench {
  Device device{"cpu_sim:0"};
  Stream stream{device};
  Buffer buffer{stream, 1024};
  Generator generator{device};

  RandomTarget target(DType type, std::int64_t count = 16) const { return {buffer, type, count}; }

  /// The call is refused with these words, and takes no numbers.
  void refused(std::initializer_list<std::string_view> words, test::CallRef call) const {
    const Error error = required_error(ErrorCode::invalid_argument, call);
    INFO(error.what());
    for (const std::string_view word : words)
      CHECK(std::string_view(error.what()).find(word) != std::string_view::npos);
    CHECK(!error.remedy().empty());
    CHECK(generator.offset() == 0);
  }
};

}  // namespace

TEST_CASE("A state of the wrong size is refused with both sizes") {
  const Bench bench;
  const std::vector<std::byte> torch_size(16);
  bench.refused({"16 bytes", "24", "cpu_sim:0"}, [&] { bench.generator.set_state(torch_size); });
  bench.refused({"0 bytes", "24"}, [&] { bench.generator.set_state({}); });
  const std::vector<std::vector<std::byte>> states{bench.generator.get_state(), torch_size};
  manual_seed_all("cpu_sim", 9);
  bench.refused({"16 bytes", "cpu_sim:1"}, [&] { set_rng_state_all("cpu_sim", states); });
  CHECK(initial_seed(Place("cpu_sim:0")) == 9);
}

TEST_CASE("A state of another kind of generator is refused") {
  const Bench bench;
  std::vector<std::byte> state = bench.generator.get_state();
  state[0] = std::byte{'m'};
  bench.refused({"another kind of generator", "philox10"}, [&] { bench.generator.set_state(state); });
  bench.refused({"another kind of generator"}, [&] { set_rng_state(Place("cpu_sim:0"), state); });
}

TEST_CASE("An offset that is no multiple of four is refused") {
  const Bench bench;
  bench.refused({"offset is 6", "multiple of 4"}, [&] { bench.generator.set_offset(6); });
  std::vector<std::byte> state = bench.generator.get_state();
  state[16] = std::byte{1};
  bench.refused({"offset is 1"}, [&] { bench.generator.set_state(state); });
}

TEST_CASE("A negative count is refused") {
  const Bench bench;
  bench.refused({"-1 elements", "0 or more"},
                [&] { bench.generator.uniform(bench.stream, bench.target(DType::f32, -1)); });
  bench.refused({"-5 elements"}, [&] { bench.generator.permutation(bench.stream, bench.target(DType::i32, -5)); });
}

TEST_CASE("Uniform ends that are empty, not finite, too far apart or too near are refused") {
  const Bench bench;
  const auto uniform = [&](DType type, double low, double high) {
    return [&bench, type, low, high] { bench.generator.uniform(bench.stream, bench.target(type), low, high); };
  };
  bench.refused({"nothing from 1 on and below 1"}, uniform(DType::f32, 1, 1));
  bench.refused({"nothing from 2 on and below 1"}, uniform(DType::f64, 2, 1));
  bench.refused({"lower end is nan"}, uniform(DType::f32, nan, 1));
  bench.refused({"upper end is nan"}, uniform(DType::f16, 0, nan));
  bench.refused({"upper end is inf"}, uniform(DType::f64, 0, infinity));
  bench.refused({"lower end is -inf"}, uniform(DType::bf16, -infinity, 0));
  bench.refused({"too wide for f32"}, uniform(DType::f32, -3e38, 3e38));
  bench.refused({"too wide for f64"}, uniform(DType::f64, -1.7e308, 1.7e308));
  bench.refused({"too wide for f16"}, uniform(DType::f16, 0, 1e6));
  bench.refused({"same number of f16"}, uniform(DType::f16, 1000, 1000.1));
  bench.refused({"same number of f32"}, uniform(DType::f32, 1, 1 + 1e-12));
}

TEST_CASE("Parameters of normal and exponential out of range are refused") {
  const Bench bench;
  const auto normal = [&](double mean, double stddev, DType type = DType::f32) {
    return [&bench, mean, stddev, type] { bench.generator.normal(bench.stream, bench.target(type), mean, stddev); };
  };
  bench.refused({"standard deviation is -1", "0 or more"}, normal(0, -1));
  bench.refused({"standard deviation is nan"}, normal(0, nan));
  bench.refused({"mean is inf"}, normal(infinity, 1, DType::f64));
  bench.refused({"mean is 1e+300", "f32"}, normal(1e300, 1));
  const auto exponential = [&](double rate, DType type = DType::f32) {
    return [&bench, rate, type] { bench.generator.exponential(bench.stream, bench.target(type), rate); };
  };
  bench.refused({"rate is 0", "above 0"}, exponential(0));
  bench.refused({"rate is -2"}, exponential(-2, DType::f64));
  bench.refused({"rate is nan"}, exponential(nan));
  bench.refused({"rate is inf"}, exponential(infinity));
  bench.refused({"1 / rate is", "too large for f32"}, exponential(1e-300));
}

TEST_CASE("Probabilities outside 0 to 1 are refused") {
  const Bench bench;
  for (const double p : {-0.1, 1.1, nan, infinity}) {
    bench.refused({"probability is", "from 0 to 1"},
                  [&] { bench.generator.bernoulli(bench.stream, bench.target(DType::u8), p); });
  }
}

TEST_CASE("Ranges of whole numbers that are empty or not of the type are refused") {
  const Bench bench;
  const auto integers = [&](DType type, RandomInteger first, RandomInteger last) {
    return [&bench, type, first, last] { bench.generator.integers(bench.stream, bench.target(type), first, last); };
  };
  bench.refused({"nothing from 5 to 4"}, integers(DType::i32, 5, 4));
  bench.refused({"nothing from 18446744073709551615 to -1"}, integers(DType::u64, UINT64_MAX, -1));
  bench.refused({"256 is no number of u8", "0 to 255"}, integers(DType::u8, 0, 256));
  bench.refused({"-1 is no number of u32"}, integers(DType::u32, -1, 5));
  bench.refused({"-129 is no number of i8", "-128 to 127"}, integers(DType::i8, -129, 0));
  bench.refused({"9223372036854775808 is no number of i64"}, integers(DType::i64, 0, std::uint64_t{1} << 63));
}

TEST_CASE("Types that a distribution doesn't have are refused by name") {
  const Bench bench;
  bench.refused({"uniform doesn't make i32", "f16, bf16, f32, f64"},
                [&] { bench.generator.uniform(bench.stream, bench.target(DType::i32)); });
  bench.refused({"normal doesn't make bool"},
                [&] { bench.generator.normal(bench.stream, bench.target(DType::boolean)); });
  bench.refused({"exponential doesn't make c64"},
                [&] { bench.generator.exponential(bench.stream, bench.target(DType::c64)); });
  bench.refused({"integers doesn't make f32"},
                [&] { bench.generator.integers(bench.stream, bench.target(DType::f32), 0, 1); });
  bench.refused({"integers doesn't make bool"},
                [&] { bench.generator.integers(bench.stream, bench.target(DType::boolean), 0, 1); });
  bench.refused({"bernoulli doesn't make i64"},
                [&] { bench.generator.bernoulli(bench.stream, bench.target(DType::i64)); });
  bench.refused({"permutation doesn't make u32", "i32, i64"},
                [&] { bench.generator.permutation(bench.stream, bench.target(DType::u32)); });
  bench.refused({"uniform doesn't make unknown"},
                [&] { bench.generator.uniform(bench.stream, bench.target(static_cast<DType>(99))); });
}

TEST_CASE("Memory that is smaller than the elements is refused with both sizes") {
  const Bench bench;
  bench.refused({"257 elements of f32 take 1028 bytes", "1024"},
                [&] { bench.generator.uniform(bench.stream, bench.target(DType::f32, 257)); });
  bench.refused({"take 18446744073709551615 bytes"},
                [&] { bench.generator.uniform(bench.stream, bench.target(DType::f64, INT64_MAX)); });
  const Address inside = bench.buffer.address() + 1000;
  bench.refused({"7 elements of f32 take 28 bytes", "24"},
                [&] { bench.generator.uniform(bench.stream, RandomTarget(inside, DType::f32, 7)); });
  bench.refused({"address is 0"},
                [&] { bench.generator.uniform(bench.stream, RandomTarget(Address(), DType::f32, 7)); });
}

TEST_CASE("Memory that begins between two elements is refused") {
  const Bench bench;
  bench.refused({"elements of f64", "multiple of 8 bytes"},
                [&] { bench.generator.uniform(bench.stream, RandomTarget(bench.buffer.sub(4), DType::f64, 1)); });
}

TEST_CASE("A stream or memory of another device is refused with both places") {
  const Bench bench;
  const Device other("cpu_sim:1");
  const Stream elsewhere(other);
  const Buffer memory(elsewhere, 64);
  bench.refused({"generator is of cpu_sim:0", "stream is of cpu_sim:1"},
                [&] { bench.generator.uniform(elsewhere, bench.target(DType::f32)); });
  bench.refused({"generator is of cpu_sim:0", "buffer is of cpu_sim:1"},
                [&] { bench.generator.uniform(bench.stream, RandomTarget(memory, DType::f32, 4)); });
  bench.refused({"memory is of cpu_sim:1"},
                [&] { bench.generator.uniform(bench.stream, RandomTarget(Address(memory.address()), DType::f32, 4)); });
  bench.refused({"generator is of nowhere:0"},
                [&] { Generator(Place("nowhere:0")).uniform(bench.stream, bench.target(DType::f32)); });
}

TEST_CASE("Handles that are null or gone are invalid") {
  const Bench bench;
  CHECK(test::code_of([&] { bench.generator.uniform(StreamView(), bench.target(DType::f32)); }) ==
        ErrorCode::invalid_handle);
  BufferView gone;
  {
    const Buffer short_lived(bench.stream, 64);
    gone = short_lived.view();
  }
  CHECK(test::code_of([&] { bench.generator.uniform(bench.stream, RandomTarget(gone, DType::f32, 4)); }) ==
        ErrorCode::invalid_handle);
  CHECK(bench.generator.offset() == 0);
}

TEST_CASE("Names that are none are refused") {
  const Bench bench;
  bench.refused({"auto"}, [] { manual_seed_all("auto", 1); });
  bench.refused({}, [] { seed_all("cpu_sim:0"); });
  CHECK(test::code_of([] { static_cast<void>(get_rng_state_all("nowhere")); }) == ErrorCode::no_such_backend);
}

TEST_CASE("A device without modules says so") {
  const Device device("sim_bare:0");
  const Stream stream(device);
  const Buffer buffer(stream, 64);
  const Error error = required_error(ErrorCode::unsupported,
                                     [&] { Generator(device).uniform(stream, RandomTarget(buffer, DType::f32, 4)); });
  CHECK(error.operation() == "Generator::uniform");
}

TEST_CASE("A device that computes no doubles makes all other numbers") {
  const Device device("sim_singles:0");
  const Stream stream(device);
  const Buffer buffer(stream, 64);
  const Generator generator(device);
  const Error error =
      required_error(ErrorCode::unsupported, [&] { generator.normal(stream, RandomTarget(buffer, DType::f64, 4)); });
  INFO(error.what());
  CHECK(error.operation() == "Generator::normal");
  CHECK(std::string_view(error.what()).find("computes no doubles") != std::string_view::npos);
  CHECK(generator.offset() == 0);
  generator.normal(stream, RandomTarget(buffer, DType::f32, 4));
  stream.synchronize();
  CHECK(generator.offset() != 0);
}

#if defined(HIP_DOUBLE_LIBRARY)
TEST_CASE("A device that takes none of the images says which it takes") {
  // The backend finds the double under its library's name; its device is none that the host's image is made out for.
  if (::dlopen(HIP_DOUBLE_LIBRARY, RTLD_NOW) == nullptr) FAIL(::dlerror());
  const Device device("hip:0");
  const Stream stream(device);
  const Buffer buffer(stream, 64);
  const Generator generator(device);
  const Error error =
      required_error(ErrorCode::invalid_image, [&] { generator.uniform(stream, RandomTarget(buffer, DType::f32, 4)); });
  INFO(error.what());
  CHECK(error.operation() == "Generator::uniform");
  CHECK(error.remedy().find("takes: hsaco") != std::string::npos);
  CHECK(generator.offset() == 0);
}
#endif

}  // namespace bad_input_test
