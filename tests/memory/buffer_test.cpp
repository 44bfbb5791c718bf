// SPDX-License-Identifier: Apache-2.0
// Buffers and views as values: making, cutting, moving, and what a wrong one gets.
#include <unordered_set>

#include "memory/memory_support.h"
#include "support/threads.h"

namespace buffer_test {

using namespace anyplace;
using namespace memory_test;

TEST_CASE("A buffer has the bytes and the device asked for and is aligned") {
  const Device device("cpu_sim:1");
  const Stream stream(device);
  for (const std::uint64_t bytes : {1ull, 255ull, 4096ull, 1048577ull}) {
    const Buffer buffer(stream, bytes);
    CHECK(buffer.size_bytes() == bytes);
    CHECK(buffer.offset_bytes() == 0);
    CHECK(buffer.device() == device);
    CHECK(buffer.address() != 0);
    CHECK(buffer.address() % std::max<std::uint64_t>(256, device.properties().address_alignment) == 0);
    CHECK(static_cast<bool>(buffer));
  }
}

TEST_CASE("A buffer made for a device belongs to the current stream of that device") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  {
    const StreamGuard guard(stream);
    HostGate gate(stream);
    Buffer buffer(device, 64);
    stream.memset8(buffer, 7);
    // If it were freed in another stream's order the fill would find foreign memory, which a memory checker sees.
    buffer = Buffer();
    gate.open();
  }
  stream.synchronize();
  SUCCEED();
}

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

TEST_CASE("Views of 0 bytes are fine in every copy and fill") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer empty(stream, 0);
  const Buffer some(stream, 16);
  const BufferView part = some.sub(16, 0);
  for (const BufferView view : {empty.view(), part}) {
    CHECK_NOTHROW(stream.copy(view, ConstHostSpan()));
    CHECK_NOTHROW(stream.copy(HostSpan(), view));
    CHECK_NOTHROW(stream.copy(view, empty));
    CHECK_NOTHROW(stream.copy(part, view));
    CHECK_NOTHROW(stream.memset8(view, 1));
    CHECK_NOTHROW(stream.memset16(view, 1));
    CHECK_NOTHROW(stream.memset32(view, 1));
    CHECK_NOTHROW(stream.copy_2d(view, 0, ConstHostSpan(), 0, 0, 3));
    CHECK_NOTHROW(stream.copy_2d(HostSpan(), 0, view, 0, 3, 0));
    CHECK_NOTHROW(stream.copy_2d(view, 0, part, 0, 0, 0));
  }
  stream.synchronize();
}

TEST_CASE("Moving a buffer leaves an empty one and frees once") {
  const Stream stream(Device("cpu_sim:0"));
  Buffer first(stream, 32);
  const BufferView view = first;
  Buffer second(std::move(first));
  CHECK_FALSE(first);  // NOLINT: the moved-from state is promised
  CHECK(second.view() == view);
  Buffer third(stream, 64);
  const BufferView gone = third;
  third = std::move(second);
  CHECK(third.view() == view);
  CHECK_FALSE(second);  // NOLINT
  CHECK(view.address() != 0);
  refused(ErrorCode::invalid_handle, [&] { static_cast<void>(gone.address()); });
  Buffer& same = third;
  third = std::move(same);
  CHECK(third.view() == view);
}

TEST_CASE("A view is a part of its buffer and a part of a part adds up") {
  const Stream stream(Device("cpu_sim:0"));
  const Bytes bytes = pattern(100);
  const Buffer buffer = upload(stream, bytes);
  const BufferView part = buffer.sub(10, 50);
  CHECK(part.size_bytes() == 50);
  CHECK(part.address() == buffer.address() + 10);
  const BufferView rest = part.sub(5);
  CHECK(rest.offset_bytes() == 15);
  CHECK(rest.size_bytes() == 45);
  CHECK(download(stream, rest) == Bytes(bytes.begin() + 15, bytes.begin() + 60));
  CHECK(buffer.sub(100).size_bytes() == 0);
  CHECK(buffer.sub(100, 0).address() == buffer.address() + 100);
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

TEST_CASE("A view made by hand that reaches beyond its buffer is an invalid argument") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer(stream, 100);
  const Bytes host(101);
  for (const BufferView view : {BufferView(buffer.id(), 0, 101), BufferView(buffer.id(), 101, 0),
                                BufferView(buffer.id(), UINT64_MAX, 2), BufferView(buffer.id(), 1, UINT64_MAX)}) {
    refused(ErrorCode::invalid_argument, [&] { static_cast<void>(view.address()); });
    refused(ErrorCode::invalid_argument, [&] { stream.memset8(view, 0); });
  }
  refused(ErrorCode::invalid_argument, [&] { stream.copy(BufferView(buffer.id(), 0, 101), host); });
}

TEST_CASE("A null view is an invalid handle where it names a buffer") {
  const Stream stream(Device("cpu_sim:0"));
  const BufferView null(0, 0, 8);
  const Buffer buffer(stream, 8);
  Bytes host(8);
  refused(ErrorCode::invalid_handle, [&] { BufferView().device(); });
  refused(ErrorCode::invalid_handle, [&] { null.device(); });
  refused(ErrorCode::invalid_handle, [&] { static_cast<void>(null.address()); });
  refused(ErrorCode::invalid_handle, [&] { static_cast<void>(null.sub(0, 1)); });
  refused(ErrorCode::invalid_handle, [&] { null.record_stream(stream); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy(null, host); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy(host, null); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy(null, buffer); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy(buffer, null); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy_2d(null, 4, host, 4, 4, 2); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy_2d(host, 4, null, 4, 4, 2); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy_2d(null, 4, buffer, 4, 4, 2); });
  refused(ErrorCode::invalid_handle, [&] { stream.memset8(null, 0); });
  refused(ErrorCode::invalid_handle, [&] { stream.memset16(null, 0); });
  refused(ErrorCode::invalid_handle, [&] { stream.memset32(null, 0); });
}

TEST_CASE("A view of a destroyed buffer is an invalid handle everywhere and stays one") {
  const Stream stream(Device("cpu_sim:0"));
  BufferView view;
  {
    const Buffer buffer(stream, 8);
    view = buffer;
  }
  // Its slot is used again, its handle is not.
  const Buffer other(stream, 8);
  Bytes host(8);
  refused(ErrorCode::invalid_handle, [&] { view.device(); });
  refused(ErrorCode::invalid_handle, [&] { static_cast<void>(view.address()); });
  refused(ErrorCode::invalid_handle, [&] { static_cast<void>(view.sub(0, 0)); });
  refused(ErrorCode::invalid_handle, [&] { view.record_stream(stream); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy(view, host); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy(host, view); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy(other, view); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy(view, other); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy_2d(view, 4, host, 4, 4, 2); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy_2d(host, 4, view, 4, 4, 2); });
  refused(ErrorCode::invalid_handle, [&] { stream.copy_2d(view, 4, other, 4, 4, 2); });
  refused(ErrorCode::invalid_handle, [&] { stream.memset8(view, 0); });
  refused(ErrorCode::invalid_handle, [&] { stream.memset8(BufferView(view.id(), 0, 0), 0); });
}

TEST_CASE("Ids of buffers are never used again") {
  const Stream stream(Device("cpu_sim:0"));
  std::unordered_set<std::uint64_t> ids;
  for (int i = 0; i < 1000; ++i) {
    const Buffer buffer(stream, 1);
    CHECK(ids.insert(buffer.id()).second);
  }
}

TEST_CASE("A buffer on a null or destroyed stream is an invalid handle") {
  StreamView gone;
  {
    const Stream stream(Device("cpu_sim:0"));
    gone = stream;
  }
  refused(ErrorCode::invalid_handle, [&] { const Buffer buffer(StreamView(), 8); });
  refused(ErrorCode::invalid_handle, [&] { const Buffer buffer(StreamView(), 0); });
  refused(ErrorCode::invalid_handle, [&] { const Buffer buffer(gone, 8); });
  const Stream live(Device("cpu_sim:0"));
  const Buffer buffer(live, 8);
  refused(ErrorCode::invalid_handle, [&] { buffer.record_stream(gone); });
  refused(ErrorCode::invalid_handle, [&] { buffer.record_stream(StreamView()); });
}

TEST_CASE("Managed memory is one memory for host and device") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer(stream, 16, {MemoryKind::managed});
  stream.memset8(buffer, 0x5a);
  stream.synchronize();
  const auto* const host = static_cast<const std::uint8_t*>(buffer.host_data());
  CHECK(Bytes(host, host + 16) == Bytes(16, 0x5a));
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

TEST_CASE("A native buffer is used like another and never freed from here") {
  const Device device("sim_plain:0");
  const Stream stream(device);
  const Bytes bytes = pattern(1000);
  const Buffer owner = upload(stream, bytes);
  {
    const Buffer native = Buffer::from_native(device, owner.address() + 100, 200);
    CHECK(native.device() == device);
    CHECK(native.size_bytes() == 200);
    CHECK_NOTHROW(native.record_stream(stream));
    CHECK(download(stream, native) == Bytes(bytes.begin() + 100, bytes.begin() + 300));
    refused(ErrorCode::invalid_argument, [&] { stream.copy(owner.sub(0, 200), native); });
    refused(ErrorCode::unsupported, [&] { native.host_data(); });
  }
  device.synchronize();
  CHECK(controls_of(device).frees == 0);
  CHECK(download(stream, owner) == bytes);
}

TEST_CASE("A native buffer of address 0 or of a range that wraps is an invalid argument") {
  const Device device("cpu_sim:0");
  refused(ErrorCode::invalid_argument, [&] { Buffer::from_native(device, 0, 16); });
  refused(ErrorCode::invalid_argument, [&] { Buffer::from_native(device, 0, 0); });
  refused(ErrorCode::invalid_argument, [&] { Buffer::from_native(device, UINT64_MAX - 10, 11 + 1); });
  refused(ErrorCode::invalid_argument, [&] { Buffer::from_native(device, 4096, UINT64_MAX); });
  CHECK_FALSE(Buffer::from_native(device, 4096, 0));
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
