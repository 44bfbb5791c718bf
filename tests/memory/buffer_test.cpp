// SPDX-License-Identifier: Apache-2.0
// Buffers and views as values: nothing and its edges, what a wrong part or a device without managed memory says.
#include "memory/memory_support.h"
#include "support/threads.h"

namespace buffer_test {

using namespace anyplace;
using namespace memory_test;

TEST_CASE("A buffer of 0 bytes is null and frees fine") {
  const Stream stream(Device("cpu_sim:0"));
  {
    const Buffer buffer(stream, 0);
    CHECK_FALSE(buffer);
    CHECK(buffer.id() == 0);
    CHECK(buffer.size_bytes() == 0);
    CHECK(buffer.address() == 0);
    CHECK(buffer.sub(0, 0) == buffer.view());
    CHECK(buffer.sub(0) == buffer.view());
    CHECK_NOTHROW(buffer.record_stream(stream));
    CHECK(buffer.host_data() == nullptr);
  }
  const Buffer managed(stream, 0, {MemoryKind::managed});
  CHECK(managed.host_data() == nullptr);
}

TEST_CASE("Handles, ranges and streams are looked at where there is nothing to do") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer buffer(stream, 100);
  const BufferView gone = Buffer(stream, 8).view();
  refused(ErrorCode::invalid_handle, [&] { stream.memset8(BufferView(gone.id(), 0, 0), 0); });
  refused(ErrorCode::invalid_handle, [&] { static_cast<void>(gone.sub(0, 0)); });
  refused(ErrorCode::invalid_handle, [&] { BufferView().device(); });
  refused(ErrorCode::invalid_handle, [&] { const Buffer made(StreamView(), 0); });
  refused(ErrorCode::invalid_handle, [&] { StreamView().copy(Buffer(), ConstHostSpan()); });
  refused(ErrorCode::invalid_argument, [&] { stream.memset8(BufferView(buffer.id(), 101, 0), 0); });
  refused(ErrorCode::invalid_argument, [&] { Buffer::from_native(device, 0, 0); });
  CHECK_FALSE(Buffer::from_native(device, 4096, 0));
}

TEST_CASE("A part that is not within says so with the numbers") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer(stream, 100);
  for (const auto& [offset, bytes] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 101}, {101, 0}, {50, 51}, {UINT64_MAX, 1}, {1, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}}) {
    const std::string text = refused(ErrorCode::invalid_argument, [&, o = offset, b = bytes] { buffer.sub(o, b); });
    CHECK_THAT(text, Catch::Contains(std::to_string(offset)) && Catch::Contains(std::to_string(bytes)) &&
                         Catch::Contains("100"));
  }
  refused(ErrorCode::invalid_argument, [&] { buffer.sub(101); });
  refused(ErrorCode::invalid_argument, [&] { buffer.sub(20, 40).sub(10, 31); });
  refused(ErrorCode::invalid_argument, [&] { Buffer().sub(0, 1); });
  refused(ErrorCode::invalid_argument, [&] { Buffer().sub(1); });
}

TEST_CASE("A copy of managed memory onto itself by the host's pointer is refused") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer(stream, 16, {MemoryKind::managed});
  refused(ErrorCode::invalid_argument,
          [&] { stream.copy(buffer.sub(0, 8), ConstHostSpan(static_cast<std::uint8_t*>(buffer.host_data()) + 4, 8)); });
}

TEST_CASE("The host's pointer to device memory is unsupported") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer(stream, 16);
  CHECK_THAT(refused(ErrorCode::unsupported, [&] { buffer.host_data(); }), Catch::Contains("managed"));
}

TEST_CASE("A device without managed memory says so before anything is allocated") {
  const Device device("sim_bare:0");
  const Stream stream(device);
  refused(ErrorCode::unsupported, [&] { const Buffer buffer(stream, 16, {MemoryKind::managed}); });
  refused(ErrorCode::unsupported, [&] { const Buffer buffer(stream, 0, {MemoryKind::managed}); });
  refused(ErrorCode::invalid_argument, [&] { const Buffer buffer(stream, 16, {static_cast<MemoryKind>(9)}); });
  CHECK(controls_of(device).allocations == 0);
}

TEST_CASE("Many threads make and use and destroy buffers at once") {
  const Device device("cpu_sim:0");
  const Stream shared(device);
  test::on_threads(4u, [&](std::uint32_t t) {
    const Stream own(device);
    for (std::uint32_t i = 0; i < 50; ++i) {
      const Bytes bytes = pattern(1000 + i, t * 100 + i);
      const Buffer buffer(own, bytes.size());
      own.copy(buffer, bytes);
      const Event copied = own.record_event();
      shared.wait_event(copied);
      Buffer second(shared, bytes.size());
      buffer.record_stream(shared);
      shared.copy(second, buffer);
      const Event done = shared.record_event();
      own.wait_event(done);
      second.record_stream(own);
      if (download(own, second) != bytes) throw std::runtime_error("the bytes are not those that were copied");
    }
  });
  shared.synchronize();
  SUCCEED();
}

}  // namespace buffer_test
