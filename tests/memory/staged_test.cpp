// SPDX-License-Identifier: Apache-2.0
//
// Copies between devices that can't reach each other, of one backend and of two, with gates and without: every byte, in
// order with what the stream does before and after, and without waiting on the host.
#include <array>

#include "memory/memory_support.h"
#include "support/threads.h"

namespace staged_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::size_t several_pieces = (std::size_t{9} << 20) + 12345;

using Route = std::array<const char*, 2>;

/// From and to: devices of one backend without peer copies, and of two backends with and without gates.
auto routes() {
  return GENERATE(Route{"sim_plain:0", "sim_plain:1"}, Route{"sim_bare:0", "sim_bare:1"},
                  Route{"cpu_sim:0", "sim_plain:0"}, Route{"sim_plain:0", "cpu_sim:0"},
                  Route{"cpu_sim:0", "sim_bare:0"}, Route{"sim_bare:0", "cpu_sim:0"},
                  Route{"sim_bare:0", "sim_plain:1"});
}

}  // namespace

TEST_CASE("Staged copies of lines arrive byte by byte on either stream") {
  const auto [from, to] = routes();
  CAPTURE(from, to);
  struct Shape {
    std::size_t width, rows, from_pitch, to_pitch;
  };
  // Many short lines, lines longer than a piece, lines that don't divide a piece, one line.
  const Shape shapes[] = {{13, 999, 20, 17},
                          {(std::size_t{4} << 20) + 77, 2, (std::size_t{4} << 20) + 100, (std::size_t{4} << 20) + 77},
                          {100003, 60, 100003, 100100},
                          {5000, 1, 6000, 7000}};
  const Stream source_stream{Device(from)};
  const Stream destination_stream{Device(to)};
  for (const Shape& shape : shapes) {
    for (const bool on_source : {true, false}) {
      CAPTURE(shape.width, shape.rows, on_source);
      const Bytes bytes = pattern(shape.from_pitch * shape.rows, static_cast<std::uint32_t>(shape.width));
      const Buffer source = upload(source_stream, bytes);
      Bytes expected(shape.to_pitch * shape.rows, 0x77);
      const Buffer destination = upload(destination_stream, expected);
      const Stream& stream = on_source ? source_stream : destination_stream;
      stream.copy_2d(destination, shape.to_pitch, source, shape.from_pitch, shape.width, shape.rows);
      stream.synchronize();
      for (std::size_t row = 0; row < shape.rows; ++row) {
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(row * shape.from_pitch), shape.width,
                    expected.begin() + static_cast<std::ptrdiff_t>(row * shape.to_pitch));
      }
      CHECK(download(destination_stream, destination) == expected);
    }
  }
}

TEST_CASE("A staged copy comes after earlier work of its stream and before later work") {
  const auto [from, to] = routes();
  CAPTURE(from, to);
  const bool on_source = GENERATE(true, false);
  CAPTURE(on_source);
  const Stream source_stream{Device(from)};
  const Stream destination_stream{Device(to)};
  const std::size_t count = 600001;
  const Bytes bytes = pattern(count);
  const Buffer source = upload(source_stream, Bytes(count, 0));
  const Buffer final_source = upload(source_stream, bytes);
  const Buffer destination = upload(destination_stream, Bytes(count, 1));
  Bytes seen(count);
  if (on_source) {
    const Stream& stream = source_stream;
    HostGate gate(stream);
    stream.copy(source, final_source);  // earlier: what is to be copied
    stream.copy(destination, source);   // returns though the stream is held back
    stream.memset8(source, 0);          // later: must not be seen
    CHECK_FALSE(stream.query());
    gate.open();
    stream.synchronize();
    CHECK(download(destination_stream, destination) == bytes);
  } else {
    source_stream.copy(source, final_source);
    source_stream.synchronize();
    const Stream& stream = destination_stream;
    HostGate gate(stream);
    stream.memset8(destination, 2);  // earlier: must be overwritten
    stream.copy(destination, source);
    stream.copy(seen, destination);  // later: sees all of it
    CHECK_FALSE(stream.query());
    gate.open();
    stream.synchronize();
    CHECK(seen == bytes);
  }
}

TEST_CASE("Many staged copies under way at once keep their bytes apart") {
  const auto [from, to] = routes();
  CAPTURE(from, to);
  const Device source_device(from);
  const Device destination_device(to);
  constexpr std::size_t count = 50021;
  constexpr std::uint32_t copies = 40;
  std::vector<Stream> streams;
  std::vector<Buffer> sources;
  std::vector<Buffer> destinations;
  for (std::uint32_t i = 0; i < copies; ++i) {
    streams.emplace_back(i % 2 == 0 ? source_device : destination_device);
    sources.push_back(upload(Stream(source_device), pattern(count, i)));
    destinations.emplace_back(Stream(destination_device), count);
  }
  destination_device.synchronize();
  {
    HostGate gate(streams[0]);  // the first waits; the others take lanes beside it
    for (std::uint32_t i = 0; i < copies; ++i) streams[i].copy(destinations[i], sources[i]);
  }
  for (const Stream& stream : streams) stream.synchronize();
  for (std::uint32_t i = 0; i < copies; ++i) {
    CHECK(download(Stream(destination_device), destinations[i]) == pattern(count, i));
  }
}

TEST_CASE("More large staged copies than there are lanes are queued and none waits on the host") {
  const Stream source_stream{Device("sim_plain:0")};
  const Stream destination_stream{Device("sim_plain:1")};
  const Bytes bytes = pattern(several_pieces);
  const Buffer source = upload(source_stream, bytes);
  const Buffer destination(destination_stream, bytes.size());
  {
    HostGate gate(source_stream);
    for (int i = 0; i < 12; ++i) source_stream.copy(destination, source);
    CHECK_FALSE(source_stream.query());
  }
  source_stream.synchronize();
  CHECK(download(destination_stream, destination) == bytes);
}

TEST_CASE("Threads copy between backends at once") {
  const Device first("cpu_sim:0");
  const Device second("sim_bare:0");
  std::atomic<int> wrong{0};
  test::on_threads(4u, [&](std::uint32_t t) {
    const Stream here(first);
    const Stream there(second);
    for (std::uint32_t i = 0; i < 5; ++i) {
      const Bytes bytes = pattern(300000 + i, t * 10 + i);
      const Buffer a = upload(here, bytes);
      const Buffer b(there, bytes.size());
      const Buffer c(here, bytes.size());
      here.copy(b, a);
      here.copy(c, b);
      b.record_stream(here);
      if (download(here, c) != bytes) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("Everything that a held stream was given happens in its order") {
  without_cache();
  // sim_bare has no gates: while its stream waits for cpu_sim, the core holds back what is submitted to it.
  const Device producer("cpu_sim:0");
  const Device device("sim_bare:0");
  const Stream stream(device);
  const Stream source_stream(producer);
  constexpr std::size_t count = 1000;
  const Bytes bytes = pattern(count);
  const Buffer source(source_stream, count);
  Bytes seen(count);
  Bytes lines(500);
  {
    HostGate gate(source_stream);
    source_stream.copy(source, bytes);
    stream.wait_stream(source_stream);
    // All of this is held back, and so is giving the memory up.
    Buffer first(stream, count);
    Buffer second(stream, count);
    stream.memset32(first, 0x01010101);
    stream.copy(second.sub(500), first.sub(0, 500));
    stream.copy(second.sub(0, 500), ConstHostSpan(bytes.data(), 500));
    stream.copy_2d(lines, 10, second, 20, 10, 50);
    stream.copy(seen, second);
    first = Buffer();
    second = Buffer();
    CHECK(controls_of(device).copies == 0);
    CHECK(controls_of(device).frees == 0);
    CHECK_FALSE(stream.query());
  }
  stream.synchronize();
  Bytes expected(count, 1);
  std::copy_n(bytes.begin(), 500, expected.begin());
  CHECK(seen == expected);
  for (std::size_t i = 0; i < 500; ++i) CHECK(lines[i] == expected[i / 10 * 20 + i % 10]);
  device.synchronize();
  CHECK(controls_of(device).frees == 2);
}

TEST_CASE("A copy with a lost device on the other side says so and harms nobody") {
  const Device device("cpu_sim:0");
  const Device other("sim_plain:0");
  const Stream stream(device);
  const Stream other_stream(other);
  const Bytes bytes = pattern(1000);
  const Buffer here = upload(stream, bytes);
  const Buffer there(other_stream, 1000);
  controls_of(other).lost = true;
  Bytes host(1000);
  refused(ErrorCode::device_lost, [&] { other_stream.copy(host, there); });
  refused(ErrorCode::device_lost, [&] { stream.copy(there, here); });
  refused(ErrorCode::device_lost, [&] { stream.copy(here, there); });
  CHECK(download(stream, here) == bytes);
}

TEST_CASE("A device that is lost in the middle of a staged copy leaves the other one usable") {
  const Device device("cpu_sim:0");
  const Device other("sim_plain:0");
  const Stream stream(device);
  const Stream other_stream(other);
  const Bytes bytes = pattern(1000);
  const Buffer here = upload(stream, bytes);
  const Buffer there(other_stream, 1000);
  Bytes host(1000);
  controls_of(other).lost = true;  // not known to anybody yet
  refused(ErrorCode::device_lost, [&] { stream.copy(there, here); });
  stream.synchronize();
  CHECK(download(stream, here) == bytes);
}

}  // namespace staged_test
