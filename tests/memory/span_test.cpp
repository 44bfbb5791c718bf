// SPDX-License-Identifier: Apache-2.0
// Buffers as elements of a type: counts, parts, and fills of values.
#include <array>
#include <complex>
#include <cstring>
#include <type_traits>

#include "memory/memory_support.h"

namespace span_test {

using namespace anyplace;
using namespace memory_test;

namespace {

template <class T>
std::vector<T> elements(const StreamView& stream, BufferSpan<T> span) {
  std::vector<T> values(span.size());
  stream.copy(values, span);
  stream.synchronize();
  return values;
}

struct Pair {
  std::int32_t first;
  std::int16_t second;
  std::int16_t third;
  friend bool operator==(const Pair&, const Pair&) = default;
};
struct Three {
  std::uint8_t bytes[3];
  friend bool operator==(const Three&, const Three&) = default;
};

/// Fills all but the first and the last element, and finds just these as they were.
template <class T>
void check_fill(const Stream& stream, T before, T value) {
  for (const std::uint64_t count : {1u, 2u, 3u, 64u, 1000u}) {
    const Buffer buffer = Buffer::of<T>(stream, count + 2);
    const BufferSpan<T> all = buffer.as<T>();
    stream.fill(all, before);
    stream.fill(all.subspan(1, count), value);
    std::vector<T> expected(count + 2, value);
    expected.front() = expected.back() = before;
    CHECK(elements(stream, all) == expected);
  }
}

// A fill of fractions is for elements that have them.
template <class T, class Value>
concept Fills = requires(const Stream& stream, BufferSpan<T> span, Value value) {
  stream.fill(span, value);
};
static_assert(Fills<float, float> && Fills<float, double> && Fills<double, int> && Fills<std::uint32_t, int>);
static_assert(!Fills<std::uint32_t, float> && !Fills<std::int64_t, double>);
template <class Value>
concept Sets32 = requires(const Stream& stream, BufferView view, Value value) {
  stream.memset32(view, value);
};
static_assert(Sets32<int> && Sets32<std::uint32_t> && !Sets32<float> && !Sets32<double>);

}  // namespace

TEST_CASE("A span counts elements beside its bytes") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer = Buffer::of<float>(stream, 10);
  CHECK(buffer.size_bytes() == 40);
  const BufferSpan<float> span = buffer.as<float>();
  CHECK(span.size() == 10);
  CHECK(span.size_bytes() == 40);
  CHECK_FALSE(span.empty());
  const BufferSpan<float> part = span.subspan(2, 5);
  CHECK(part.size() == 5);
  CHECK(part.offset_bytes() == 8);
  CHECK(part.address() == buffer.address() + 8);
  CHECK(part.subspan(4).size() == 1);
  CHECK(part.first(3) == span.subspan(2, 3));
  CHECK(part.last(3) == span.subspan(4, 3));
  CHECK(span.subspan(10).empty());
  CHECK(span.last(0).empty());
  CHECK(BufferSpan<float>().empty());
  CHECK(Buffer(stream, 0).as<double>().empty());
}

TEST_CASE("A span leaves out a rest that is no whole element") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer(stream, 23);
  CHECK(buffer.as<double>().size() == 2);
  CHECK(buffer.as<double>().size_bytes() == 16);
  CHECK(buffer.sub(0, 7).as<double>().empty());
  CHECK(buffer.as<Three>().size() == 7);
}

TEST_CASE("A span goes to kernels and copies as its buffer would") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer buffer = Buffer::of<std::uint32_t>(device, 8);
  const BufferSpan<std::uint32_t> span = buffer.as<std::uint32_t>();
  stream.synchronize();
  stream.fill(span, 5u);
  const Kernel twice(device, [](const Block& block, std::uint32_t* data) { data[block.index().x] *= 2; });
  stream.launch(twice, {4, 1}, span.last(4));
  CHECK(elements(stream, span) == std::vector<std::uint32_t>{5, 5, 5, 5, 10, 10, 10, 10});
}

TEST_CASE("Parts beyond a span are refused with the numbers of elements") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer = Buffer::of<double>(stream, 4);
  const BufferSpan<double> span = buffer.as<double>();
  CHECK_THAT(refused(ErrorCode::invalid_argument, [&] { static_cast<void>(span.subspan(3, 2)); }),
             Catch::Contains("2 elements from number 3") && Catch::Contains("which has 4"));
  refused(ErrorCode::invalid_argument, [&] { static_cast<void>(span.subspan(5)); });
  refused(ErrorCode::invalid_argument, [&] { static_cast<void>(span.subspan(5, 0)); });
  refused(ErrorCode::invalid_argument, [&] { static_cast<void>(span.first(5)); });
  refused(ErrorCode::invalid_argument, [&] { static_cast<void>(span.last(5)); });
  refused(ErrorCode::invalid_argument, [&] { static_cast<void>(span.subspan(0, UINT64_MAX / 8 + 2)); });
  refused(ErrorCode::invalid_argument, [&] { static_cast<void>(span.subspan(UINT64_MAX, 1)); });
}

TEST_CASE("A span that begins between two elements is refused") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer(stream, 64);
  CHECK_THAT(refused(ErrorCode::invalid_argument, [&] { static_cast<void>(buffer.sub(2).as<float>()); }),
             Catch::Contains("byte 2") && Catch::Contains("multiples of 4"));
  CHECK(buffer.sub(4).as<float>().size() == 15);
  CHECK(buffer.sub(1).as<Three>().size() == 21);
}

TEST_CASE("A part of a span whose buffer is gone is an invalid handle") {
  const Stream stream(Device("cpu_sim:0"));
  BufferSpan<float> span;
  {
    const Buffer buffer = Buffer::of<float>(stream, 4);
    span = buffer.as<float>();
  }
  refused(ErrorCode::invalid_handle, [&] { static_cast<void>(span.first(1)); });
  refused(ErrorCode::invalid_handle, [&] { stream.fill(span, 1.0f); });
}

TEST_CASE("More elements than 64 bits count are out of memory") {
  const Stream stream(Device("cpu_sim:0"));
  refused(ErrorCode::out_of_memory, [&] { static_cast<void>(Buffer::of<double>(stream, UINT64_MAX / 8 + 2)); });
  refused(ErrorCode::out_of_memory, [&] { static_cast<void>(Buffer::of<double>(stream.device(), UINT64_MAX)); });
}

TEST_CASE("A fill writes values of the span's type") {
  const std::string place = GENERATE("cpu_sim:0", "sim_bare:0");
  const Stream stream{Device(place)};
  check_fill<std::uint8_t>(stream, 1, 255);
  check_fill<std::int16_t>(stream, 1, -2);
  check_fill<float>(stream, 0.0f, 1.0f);
  check_fill<std::int32_t>(stream, 7, -7);
  check_fill<double>(stream, 0.0, 1.0);
  check_fill<std::uint64_t>(stream, 0x0123456789abcdef, 0x1111111111111111);
  check_fill<std::complex<double>>(stream, {1, 2}, {3, 4});
  check_fill<Pair>(stream, {1, 2, 3}, {-4, 5, -6});
  check_fill<Three>(stream, {{1, 2, 3}}, {{4, 4, 4}});
  check_fill<Three>(stream, {{0, 0, 0}}, {{4, 5, 6}});
}

TEST_CASE("A fill of 0 elements is nothing") {
  const Stream stream(Device("cpu_sim:0"));
  CHECK_NOTHROW(stream.fill(BufferSpan<float>(), 1.0f));
  CHECK_NOTHROW(stream.fill(BufferSpan<double>(), 1.0));
  CHECK_NOTHROW(stream.fill(Buffer(stream, 0).as<double>(), 1.0));
  refused(ErrorCode::invalid_handle, [] { StreamView().fill(BufferSpan<double>(), 1.0); });
}

TEST_CASE("A fill runs in the stream's order") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer = Buffer::of<double>(stream, 100);
  const BufferSpan<double> span = buffer.as<double>();
  stream.fill(span, 1.5);
  std::vector<double> first(100);
  HostGate gate(stream);
  stream.copy(first, span);
  stream.fill(span, 2.5);
  gate.open();
  CHECK(elements(stream, span) == std::vector<double>(100, 2.5));
  CHECK(first == std::vector<double>(100, 1.5));
}

TEST_CASE("What a fill is refused for is said as the fill's") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream far(Device("cpu_sim:1"));
  const Buffer buffer = Buffer::of<double>(stream, 4);
  for (const double value : {0.0, 1.0}) {  // in one submission, and in several
    const Error error = error_of([&] { far.fill(buffer.as<double>(), value); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.operation() == "Stream::fill");
    CHECK_THAT(error.what(), Catch::Contains("cpu_sim:0") && Catch::Contains("cpu_sim:1"));
  }
  const BufferSpan<double> beyond(BufferView(buffer.id(), 0, 64));
  const Error error = error_of([&] { stream.fill(beyond, 1.0); });
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK(error.operation() == "Stream::fill");
}

}  // namespace span_test
