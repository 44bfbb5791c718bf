// SPDX-License-Identifier: Apache-2.0
// What copies and fills refuse, before anything is submitted.
#include <array>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "memory/memory_support.h"

namespace copy_arguments_test {

using namespace anyplace;
using namespace memory_test;

namespace {

/// A device, a stream and memory of it, and a check that nothing reached the backend.
struct Scene {
  Device device{"sim_full:0"};
  Stream stream{device};
  Buffer buffer{stream, 1000};
  Buffer other{stream, 1000};
  Bytes host = Bytes(1000);

  Controls& controls() const { return controls_of(device); }
  bool nothing_submitted() const {
    return controls().copies == 0 && controls().copies_2d == 0 && controls().peer_copies == 0;
  }
};

}  // namespace

TEST_CASE("Sides of different sizes are refused with both sizes") {
  const Scene scene;
  Bytes host(999);
  for (const std::string& text :
       {refused(ErrorCode::invalid_argument, [&] { scene.stream.copy(scene.buffer, ConstHostSpan(host)); }),
        refused(ErrorCode::invalid_argument, [&] { scene.stream.copy(HostSpan(host), scene.buffer); }),
        refused(ErrorCode::invalid_argument, [&] { scene.stream.copy(scene.buffer, scene.other.sub(0, 999)); })}) {
    CHECK_THAT(text, Catch::Contains("1000") && Catch::Contains("999"));
  }
  refused(ErrorCode::invalid_argument, [&] { scene.stream.copy(scene.buffer, Buffer()); });
  refused(ErrorCode::invalid_argument, [&] { scene.stream.copy(Buffer(), ConstHostSpan(host)); });
  CHECK(scene.nothing_submitted());
}

TEST_CASE("A null host pointer with bytes to copy is refused") {
  const Scene scene;
  const auto refuse = [&](auto&& call) {
    CHECK_THAT(refused(ErrorCode::invalid_argument, call), Catch::Contains("null"));
  };
  refuse([&] { scene.stream.copy(scene.buffer, ConstHostSpan(nullptr, 1000)); });
  refuse([&] { scene.stream.copy(HostSpan(nullptr, 1000), scene.buffer); });
  refuse([&] { scene.stream.copy_2d(scene.buffer, 10, ConstHostSpan(nullptr, 1000), 10, 10, 10); });
  refuse([&] { scene.stream.copy_2d(HostSpan(nullptr, 1000), 10, scene.buffer, 10, 10, 10); });
  CHECK(scene.nothing_submitted());
}

TEST_CASE("Ranges of one device that overlap are refused") {
  const Scene scene;
  const auto& buffer = scene.buffer;
  const auto refuse = [&](BufferView to, BufferView from) {
    CHECK_THAT(refused(ErrorCode::invalid_argument, [&] { scene.stream.copy(to, from); }), Catch::Contains("overlap"));
  };
  refuse(buffer, buffer);
  refuse(buffer.sub(1, 100), buffer.sub(0, 100));
  refuse(buffer.sub(0, 100), buffer.sub(99, 100));
  refuse(buffer.sub(5, 1), buffer.sub(5, 1));
  refuse(Buffer::from_native(scene.device, buffer.address() + 10, 20), buffer.sub(0, 20));
  CHECK(scene.nothing_submitted());
}

TEST_CASE("Lines of one device that overlap are refused") {
  const Scene scene;
  const auto& buffer = scene.buffer;
  const auto refuse = [&](BufferView to, std::uint64_t to_pitch, BufferView from, std::uint64_t from_pitch,
                          std::uint64_t width, std::uint64_t rows) {
    CHECK_THAT(refused(ErrorCode::invalid_argument,
                       [&] { scene.stream.copy_2d(to, to_pitch, from, from_pitch, width, rows); }),
               Catch::Contains("overlap"));
  };
  refuse(buffer, 100, buffer, 100, 50, 10);
  refuse(buffer.sub(49), 100, buffer, 100, 50, 5);
  refuse(buffer.sub(51), 100, buffer, 100, 50, 5);  // its line reaches into the next one
  refuse(buffer.sub(100), 100, buffer, 100, 50, 5);
  refuse(buffer, 90, buffer.sub(300), 100, 50, 5);
  refuse(buffer.sub(300), 100, buffer, 90, 50, 5);
  refuse(buffer, 10, buffer.sub(0), 10, 10, 1);
  CHECK(scene.nothing_submitted());
}

TEST_CASE("Memory of another device is refused with all places, also where there is nothing to copy") {
  const Scene scene;
  const Buffer there(Stream(Device("sim_full:1")), 1000);
  const Stream farther_stream(Device("cpu_sim:0"));
  const auto refuse = [&](auto&& call) {
    const std::string text = refused(ErrorCode::invalid_argument, call);
    CHECK_THAT(text, Catch::Contains("sim_full:0") && Catch::Contains("sim_full:1"));
    return text;
  };
  refuse([&] { scene.stream.memset8(there.sub(0, 0), 0); });
  refuse([&] { scene.stream.copy(there.sub(0, 0), ConstHostSpan()); });
  // Between buffers one has to be the stream's.
  for (const std::string& text : {refuse([&] { farther_stream.copy(there, scene.buffer); }),
                                  refuse([&] { farther_stream.copy_2d(there, 10, scene.buffer, 10, 10, 10); })}) {
    CHECK_THAT(text, Catch::Contains("cpu_sim:0"));
  }
  CHECK(scene.nothing_submitted());
}

TEST_CASE("A pitch below the width is refused with both numbers") {
  const Scene scene;
  Bytes host(1000);
  const auto refuse = [&](auto&& call) {
    CHECK_THAT(refused(ErrorCode::invalid_argument, call), Catch::Contains("99") && Catch::Contains("100"));
  };
  refuse([&] { scene.stream.copy_2d(scene.buffer, 99, ConstHostSpan(host), 100, 100, 2); });
  refuse([&] { scene.stream.copy_2d(scene.buffer, 100, ConstHostSpan(host), 99, 100, 2); });
  refuse([&] { scene.stream.copy_2d(HostSpan(host), 99, scene.buffer, 100, 100, 2); });
  refuse([&] { scene.stream.copy_2d(HostSpan(host), 100, scene.buffer, 99, 100, 2); });
  refuse([&] { scene.stream.copy_2d(scene.buffer, 99, scene.other, 100, 100, 2); });
  refuse([&] { scene.stream.copy_2d(scene.buffer, 100, scene.other, 99, 100, 1); });
  CHECK(scene.nothing_submitted());
}

TEST_CASE("Lines beyond a side are refused with what they need and what there is") {
  const Scene scene;
  Bytes host(1000);
  const auto refuse = [&](auto&& call) {
    CHECK_THAT(refused(ErrorCode::invalid_argument, call), Catch::Contains("1001") && Catch::Contains("1000"));
  };
  // 9 pitches of 100 and a width of 101 are 1001 bytes.
  const Buffer large(scene.stream, 5000);
  Bytes large_host(5000);
  refuse([&] { scene.stream.copy_2d(scene.buffer, 110, ConstHostSpan(large_host), 400, 11, 10); });
  refuse([&] { scene.stream.copy_2d(large, 400, ConstHostSpan(host), 110, 11, 10); });
  refuse([&] { scene.stream.copy_2d(HostSpan(host), 110, large, 400, 11, 10); });
  refuse([&] { scene.stream.copy_2d(HostSpan(large_host), 400, scene.buffer, 110, 11, 10); });
  refuse([&] { scene.stream.copy_2d(scene.buffer, 110, large, 400, 11, 10); });
  refuse([&] { scene.stream.copy_2d(large, 400, scene.buffer, 110, 11, 10); });
  CHECK(scene.nothing_submitted());
}

TEST_CASE("Sizes that overflow 64 bits are refused and not wrapped") {
  const Scene scene;
  Bytes host(1000);
  constexpr std::uint64_t huge = UINT64_MAX;
  for (const auto& [pitch, width, rows] : std::vector<std::array<std::uint64_t, 3>>{{huge, 1, 2},
                                                                                    {huge, huge, 1},
                                                                                    {huge, huge, huge},
                                                                                    {1ull << 32, 16, (1ull << 32) + 1},
                                                                                    {16, 16, 1ull << 60},
                                                                                    {huge - 7, 8, 2},
                                                                                    {1, 1, huge}}) {
    const std::uint64_t p = pitch;
    const std::uint64_t w = width;
    const std::uint64_t r = rows;
    CAPTURE(p, w, r);
    refused(ErrorCode::invalid_argument, [&] { scene.stream.copy_2d(scene.buffer, p, ConstHostSpan(host), p, w, r); });
    refused(ErrorCode::invalid_argument, [&] { scene.stream.copy_2d(HostSpan(host), p, scene.buffer, p, w, r); });
    refused(ErrorCode::invalid_argument, [&] { scene.stream.copy_2d(scene.buffer, p, scene.other, p, w, r); });
  }
  CHECK(scene.nothing_submitted());
}

TEST_CASE("Copies take no temporary that owns its elements, and every view of elsewhere") {
  using Floats = std::vector<float>;
  CHECK_FALSE(std::is_convertible_v<Floats, ConstHostSpan>);
  CHECK_FALSE(std::is_convertible_v<const Floats, ConstHostSpan>);
  CHECK_FALSE(std::is_convertible_v<std::string, ConstHostSpan>);
  CHECK_FALSE(std::is_convertible_v<std::array<int, 4>, ConstHostSpan>);
  CHECK_FALSE(std::is_convertible_v<std::initializer_list<int>, ConstHostSpan>);
  CHECK_FALSE(std::is_convertible_v<HostBuffer, ConstHostSpan>);
  CHECK_FALSE(std::is_convertible_v<Floats, HostSpan>);
  CHECK_FALSE(std::is_convertible_v<std::string, HostSpan>);
  CHECK_FALSE(std::is_convertible_v<HostBuffer, HostSpan>);

  CHECK(std::is_convertible_v<Floats&, ConstHostSpan>);
  CHECK(std::is_convertible_v<const Floats&, ConstHostSpan>);
  CHECK(std::is_convertible_v<std::string_view, ConstHostSpan>);
  CHECK(std::is_convertible_v<std::span<const float>, ConstHostSpan>);
  CHECK(std::is_convertible_v<const char(&)[4], ConstHostSpan>);
  CHECK(std::is_convertible_v<HostBuffer&, ConstHostSpan>);
  CHECK(std::is_convertible_v<HostSpan, ConstHostSpan>);
  CHECK(std::is_convertible_v<Floats&, HostSpan>);
  CHECK(std::is_convertible_v<std::span<float>, HostSpan>);
  CHECK(std::is_convertible_v<const std::span<float>&, HostSpan>);
  CHECK(std::is_convertible_v<HostBuffer&, HostSpan>);
  CHECK_FALSE(std::is_convertible_v<const Floats&, HostSpan>);
  CHECK_FALSE(std::is_convertible_v<std::span<const float>, HostSpan>);
}

}  // namespace copy_arguments_test
