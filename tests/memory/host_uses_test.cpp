// SPDX-License-Identifier: Apache-2.0
// HostBuffers that go while copies from and to them are pending: their memory is nobody else's before these are done,
// and is again after.
#include <stdexcept>
#include <thread>

#include "memory/memory_support.h"

namespace host_uses_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::size_t size = 64 * 1024;

void write(const HostBuffer& host, const Bytes& bytes) {
  std::copy(bytes.begin(), bytes.end(), host.as<std::uint8_t>().begin());
}

/// HostBuffers of that size, as many as the pool could have memory for, all overwritten.
std::vector<HostBuffer> take_and_overwrite(const Device& device, std::size_t bytes = size) {
  std::vector<HostBuffer> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back(device, bytes);
    std::fill_n(all.back().as<std::uint8_t>().begin(), bytes, std::uint8_t{0xee});
  }
  return all;
}

bool has(const std::vector<HostBuffer>& all, const std::byte* data) {
  return std::any_of(all.begin(), all.end(), [&](const HostBuffer& host) { return host.data() == data; });
}

/// A copy from a HostBuffer that `submit` submits behind a gate. The HostBuffer goes, others come, and the copy still
/// finds what it is to copy; then the memory is given out again.
template <class Submit>
void check_source_kept(const std::string& place, Submit&& submit) {
  const Device device(place);
  const Stream stream(device);
  const Bytes bytes = pattern(size);
  const Buffer buffer(stream, size);
  HostGate gate(stream);
  const std::byte* data = nullptr;
  {
    const HostBuffer host(device, size);
    data = host.data();
    write(host, bytes);
    submit(stream, buffer, host);
  }
  CHECK(host_memory_stats(device).pending_bytes == size);
  CHECK(host_memory_stats(device).allocations == 0);
  CHECK_FALSE(has(take_and_overwrite(device), data));
  gate.open();
  CHECK(download(stream, buffer) == bytes);
  CHECK(has(take_and_overwrite(device), data));
  CHECK(host_memory_stats(device).pending_bytes == 0);
}

}  // namespace

TEST_CASE("A HostBuffer that goes before a copy has read it keeps its memory until then") {
  const std::string place = GENERATE("cpu_sim:0", "sim_plain:0");
  check_source_kept(place, [](const Stream& stream, BufferView to, const HostBuffer& host) { stream.copy(to, host); });
}

TEST_CASE("The memory of a HostBuffer is known by any name that a copy gives it") {
  const std::string place = "cpu_sim:0";
  SECTION("elements") {
    check_source_kept(
        place, [](const Stream& stream, BufferView to, const HostBuffer& host) { stream.copy(to, host.as<double>()); });
  }
  SECTION("an address") {
    check_source_kept(place, [](const Stream& stream, BufferView to, const HostBuffer& host) {
      const void* const address = host.data();
      stream.copy(to, ConstHostSpan(address, size));
    });
  }
  SECTION("parts from its middle") {
    check_source_kept(place, [](const Stream& stream, BufferView to, const HostBuffer& host) {
      for (std::size_t at = 0; at < size; at += size / 4) {
        stream.copy(to.sub(at, size / 4), ConstHostSpan(host.data() + at, size / 4));
      }
    });
  }
  SECTION("its last byte") {
    check_source_kept(place, [](const Stream& stream, BufferView to, const HostBuffer& host) {
      stream.copy(to.sub(size - 1), ConstHostSpan(host.data() + size - 1, 1));
      stream.copy(to.sub(0, size - 1), ConstHostSpan(host.data(), size - 1));
    });
  }
  SECTION("lines") {
    check_source_kept(place, [](const Stream& stream, BufferView to, const HostBuffer& host) {
      stream.copy_2d(to, 256, host, 256, 256, size / 256);
    });
  }
  SECTION("lines with something between them") {
    check_source_kept(place, [](const Stream& stream, BufferView to, const HostBuffer& host) {
      stream.copy_2d(to, 256, host, 256, 200, size / 256);
      stream.copy_2d(to.sub(200), 256, ConstHostSpan(host.data() + 200, size - 200), 256, 56, size / 256);
    });
  }
  SECTION("a Buffer that wraps it") {
    check_source_kept(place, [](const Stream& stream, BufferView to, const HostBuffer& host) {
      const Buffer mapped =
          Buffer::from_native(stream.device(), reinterpret_cast<std::uintptr_t>(host.data()), host.size_bytes());
      stream.copy(to, mapped);
    });
  }
  SECTION("another HostBuffer that it was moved to") {
    check_source_kept(place, [](const Stream& stream, BufferView to, const HostBuffer& host) {
      HostBuffer moved(std::move(const_cast<HostBuffer&>(host)));  // NOLINT: its memory goes here already
      stream.copy(to, moved);
    });
  }
}

TEST_CASE("A HostBuffer that goes before a copy has written it keeps its memory until then") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Bytes bytes = pattern(size);
  const Buffer buffer = upload(stream, bytes);
  HostGate gate(stream);
  { stream.copy(HostBuffer(device, size).as<std::uint8_t>(), buffer); }
  std::vector<HostBuffer> others = take_and_overwrite(device);
  gate.open();
  stream.synchronize();
  for (const HostBuffer& other : others) {
    const auto values = other.as<std::uint8_t>();
    CHECK(std::all_of(values.begin(), values.end(), [](std::uint8_t value) { return value == 0xee; }));
  }
}

TEST_CASE("A HostBuffer that goes with an exception keeps its memory while copies use it") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Bytes bytes = pattern(size);
  const Buffer buffer(stream, size);
  const Buffer short_one(stream, 1);
  HostGate gate(stream);
  try {
    const HostBuffer host(device, size);
    write(host, bytes);
    stream.copy(buffer, host);
    stream.copy(short_one, host);  // of another size
    FAIL("the second copy was to be refused");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
  }
  const std::vector<HostBuffer> others = take_and_overwrite(device);
  gate.open();
  CHECK(download(stream, buffer) == bytes);
}

TEST_CASE("A HostBuffer that is assigned to keeps its old memory while copies use it") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Bytes bytes = pattern(size);
  const Buffer buffer(stream, size);
  HostGate gate(stream);
  HostBuffer host(device, size);
  write(host, bytes);
  stream.copy(buffer, host);
  host = HostBuffer(device, size);
  write(host, Bytes(size, 0xee));
  const std::vector<HostBuffer> others = take_and_overwrite(device);
  gate.open();
  CHECK(download(stream, buffer) == bytes);
}

TEST_CASE("Memory whose copies are done is given out again at once") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer buffer(stream, size);
  const std::byte* data = nullptr;
  for (int i = 0; i < 10; ++i) {
    const HostBuffer host(device, size);
    if (data == nullptr) data = host.data();
    CHECK(host.data() == data);
    stream.copy(buffer, host);
    stream.synchronize();
  }
  CHECK(host_memory_stats(device).device_allocations == 1);
}

TEST_CASE("Memory that streams of several devices and backends use waits for them all") {
  const Device device("cpu_sim:0");
  const std::vector<Device> devices{device, Device("cpu_sim:1"), Device("sim_full:0")};
  const std::size_t last = GENERATE(0u, 1u, 2u);
  std::vector<Stream> streams;
  std::vector<Buffer> buffers;
  for (const Device& each : devices) buffers.emplace_back(streams.emplace_back(each), size);
  const Bytes bytes = pattern(size);
  std::vector<std::unique_ptr<HostGate>> gates;
  const std::byte* data = nullptr;
  {
    const HostBuffer host(device, size);
    data = host.data();
    write(host, bytes);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      gates.push_back(std::make_unique<HostGate>(streams[i]));
      streams[i].copy(buffers[i], host);
    }
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (i == last) continue;
    gates[i]->open();
    streams[i].synchronize();
  }
  CHECK_FALSE(has(take_and_overwrite(device), data));
  gates[last]->open();
  for (std::size_t i = 0; i < devices.size(); ++i) CHECK(download(streams[i], buffers[i]) == bytes);
  CHECK(has(take_and_overwrite(device), data));
}

TEST_CASE("Memory waits for the work of a stream that is destroyed") {
  const Device device("cpu_sim:0");
  const Stream reader(device);
  const Bytes bytes = pattern(size);
  const Buffer buffer(reader, size);
  std::unique_ptr<HostGate> gate;
  Event copied(device);
  {
    const Stream stream(device);
    gate = std::make_unique<HostGate>(stream);
    const HostBuffer host(device, size);
    write(host, bytes);
    stream.copy(buffer, host);
    buffer.record_stream(stream);
    copied.record(stream);
  }
  const std::vector<HostBuffer> others = take_and_overwrite(device);
  gate->open();
  reader.wait_event(copied);
  CHECK(download(reader, buffer) == bytes);
}

TEST_CASE("Memory that a held stream copies from waits for the copy") {
  // The stream waits for another backend's work, so the core keeps the copy back.
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream elsewhere(Device("sim_full:0"));
  const Bytes bytes = pattern(size);
  const Buffer buffer(stream, size);
  HostGate gate(elsewhere);
  stream.wait_stream(elsewhere);
  {
    const HostBuffer host(device, size);
    write(host, bytes);
    stream.copy(buffer, host);
  }
  const std::vector<HostBuffer> others = take_and_overwrite(device);
  gate.open();
  CHECK(download(stream, buffer) == bytes);
}

TEST_CASE("A HostBuffer that goes inside a host function keeps its memory while copies use it") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream other(Device("cpu_sim:1"));  // a device may run its host functions one after the other
  const Bytes bytes = pattern(size);
  const Buffer buffer(stream, size);
  auto host = std::make_shared<HostBuffer>(device, size);
  const std::byte* const data = host->data();
  write(*host, bytes);
  HostGate gate(stream);
  stream.copy(buffer, *host);
  other.launch_host_func([gone = std::move(host)]() mutable { gone.reset(); });
  other.synchronize();
  CHECK_FALSE(has(take_and_overwrite(device), data));
  const std::uint64_t others = host_memory_stats(device).cached_bytes;
  gate.open();
  CHECK(download(stream, buffer) == bytes);
  // Another thread brings it back, perhaps while the others are taken: then they are taken before it ever after.
  while (host_memory_stats(device).cached_bytes == others) take_and_overwrite(device);
  const std::vector<HostBuffer> first = take_and_overwrite(device);
  CHECK((has(first, data) || has(take_and_overwrite(device), data)));
}

TEST_CASE("What a kernel does with a HostBuffer is waited for when the stream was recorded") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer result(stream, 4);
  const Kernel reads(device, [](const Block&, const std::uint32_t* from, std::uint32_t* to) { *to = *from; });
  HostGate gate(stream);
  const std::byte* data = nullptr;
  {
    const HostBuffer host(device, size);
    data = host.data();
    host.as<std::uint32_t>()[0] = 77;
    stream.launch(reads, {1, 1}, host.as<std::uint32_t>().data(), result);
    host.record_stream(stream);
    host.record_stream(stream);
  }
  CHECK_FALSE(has(take_and_overwrite(device), data));
  gate.open();
  std::uint32_t value = 0;
  stream.copy(HostSpan(&value, 4), result);
  stream.synchronize();
  CHECK(value == 77);
}

TEST_CASE("Recording a stream that is none is refused and an empty HostBuffer has nothing to record") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  CHECK_NOTHROW(HostBuffer().record_stream(stream));
  refused(ErrorCode::invalid_handle, [&] { HostBuffer(device, 16).record_stream(StreamView()); });
  refused(ErrorCode::invalid_handle, [&] { HostBuffer().record_stream(StreamView()); });
}

TEST_CASE("What copies still use isn't given back to the device by emptying the cache") {
  const Device device("sim_full:0");
  const Controls& controls = controls_of(device);
  const Stream stream(device);
  const Bytes bytes = pattern(size);
  const Buffer buffer(stream, size);
  HostGate gate(stream);
  {
    const HostBuffer host(device, size);
    write(host, bytes);
    stream.copy(buffer, host);
  }
  const auto frees = controls.frees.load();
  empty_cache(device);
  CHECK(controls.frees == frees);
  CHECK(host_memory_stats(device).reserved_bytes == size);
  gate.open();
  CHECK(download(stream, buffer) == bytes);
  empty_cache(device);
  CHECK(controls.frees == frees + 1);
  CHECK(host_memory_stats(device).reserved_bytes == 0);
}

TEST_CASE("Without caching memory goes back to the device when the copies are done and not before") {
  without_cache();
  const Device device("sim_full:0");
  const Controls& controls = controls_of(device);
  const Stream stream(device);
  const Bytes bytes = pattern(size);
  const Buffer buffer(stream, size);
  HostGate gate(stream);
  {
    const HostBuffer host(device, size);
    write(host, bytes);
    stream.copy(buffer, host);
  }
  CHECK(controls.frees == 0);
  gate.open();
  stream.synchronize();
  device.synchronize();
  CHECK(controls.frees == 1);
  CHECK(download(stream, buffer) == bytes);
}

TEST_CASE("A HostBuffer over the limit waits for what copies still use") {
  const Device device("cpu_sim:0");
  AllocatorConfig config;
  config.pinned_limit_bytes = size;
  configure_allocator(device, config);
  const Stream stream(device);
  const Bytes bytes = pattern(size);
  const Buffer buffer(stream, size);
  {
    const HostBuffer host(device, size);
    write(host, bytes);
    stream.copy(buffer, host);
  }
  const HostBuffer next(device, size);
  std::fill_n(next.as<std::uint8_t>().begin(), size, std::uint8_t{0});
  CHECK(download(stream, buffer) == bytes);
}

TEST_CASE("Streams that copied once and went are let go of by a HostBuffer that stays") {
  const Device device("cpu_sim:0");
  const HostBuffer host(device, size);
  const Buffer buffer(device, size);
  for (int i = 0; i < 1000; ++i) {
    const Stream stream(device);
    stream.copy(buffer, host);
    stream.synchronize();
  }
}

TEST_CASE("Threads copy from HostBuffers while others come and go") {
  const Device device("cpu_sim:0");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Stream stream(device);
      const std::size_t bytes = 5000 + 20000 * t;
      const Buffer buffer(stream, bytes);
      for (std::uint32_t i = 0; i < 200; ++i) {
        const Bytes wanted = pattern(bytes, t * 1000 + i);
        {
          const HostBuffer host(device, bytes);
          write(host, wanted);
          stream.copy(buffer, host);
        }
        const HostBuffer next(device, bytes);
        std::fill_n(next.as<std::uint8_t>().begin(), bytes, std::uint8_t{0xee});
        if (download(stream, buffer) != wanted) ++wrong;
        if (i % 50 == 0) empty_cache(device);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("Memory beside HostBuffers is copied as ever") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::vector<HostBuffer> hosts;
  std::vector<Bytes> plain;
  for (std::size_t i = 0; i < 100; ++i) {
    hosts.emplace_back(device, 4096 * (i + 1));
    plain.push_back(pattern(4096 * (i + 1)));
  }
  for (std::size_t i = 0; i < 100; i += 2) hosts[i] = HostBuffer();
  empty_cache(device);
  for (const Bytes& bytes : plain) CHECK(download(stream, upload(stream, bytes)) == bytes);
  for (std::size_t i = 1; i < 100; i += 2) {
    write(hosts[i], plain[i]);
    const Buffer buffer(stream, plain[i].size());
    stream.copy(buffer, hosts[i].as<std::uint8_t>());
    CHECK(download(stream, buffer) == plain[i]);
  }
}

}  // namespace host_uses_test
