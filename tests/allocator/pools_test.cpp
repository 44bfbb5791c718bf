// SPDX-License-Identifier: Apache-2.0
// Private pools and the scopes in which they are used.
#include <memory>
#include <string>
#include <thread>

#include "memory/memory_support.h"
#include "support/environment.h"

namespace pools_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mib = 1024 * 1024;

}  // namespace

TEST_CASE("In the scope of a guard memory comes from the pool, and nowhere else") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  MemoryPool pool(device);
  REQUIRE(pool);
  CHECK(pool.id() != 0);
  CHECK(pool.reserved_bytes() == 0);
  const Buffer before(stream, mib);
  CHECK(pool.allocated_bytes() == 0);
  {
    const MemoryPoolGuard guard(pool);
    const Buffer inside(stream, 3 * mib);
    CHECK(pool.allocated_bytes() == 3 * mib);
    CHECK(pool.reserved_bytes() >= 3 * mib);
    std::thread([&] {
      const Stream own(device);
      const Buffer other(own, 3 * mib);
      CHECK(pool.allocated_bytes() == 3 * mib);
    }).join();
  }
  CHECK(pool.allocated_bytes() == 0);
  const Buffer after(stream, mib);
  CHECK(pool.allocated_bytes() == 0);
}

TEST_CASE("A guard of no pool leaves the one that is current") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  MemoryPool pool(device);
  const MemoryPool* const none = nullptr;
  {
    const MemoryPoolGuard guard(none);
    const Buffer outside(stream, mib);
    CHECK(pool.allocated_bytes() == 0);
  }
  const MemoryPoolGuard guard(&pool);
  const MemoryPoolGuard inner(none);
  const Buffer inside(stream, 3 * mib);
  CHECK(pool.allocated_bytes() == 3 * mib);
}

TEST_CASE("What is cached in a pool is used again in it and nowhere else") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  MemoryPool pool(device);
  std::uint64_t address = 0;
  {
    const MemoryPoolGuard guard(pool);
    const Buffer inside(stream, 4 * mib);
    address = inside.address();
  }
  const Buffer outside(stream, 4 * mib);
  CHECK(outside.address() != address);
  const MemoryPoolGuard guard(pool);
  const Buffer again(stream, 4 * mib);
  CHECK(again.address() == address);
}

TEST_CASE("Guards nest, each device has its own, and they end in any order") {
  test::set_env("ANYPLACE_CPU_SIM_DEVICES", "2");
  const Device device("cpu_sim:0");
  const Device second("cpu_sim:1");
  const Stream stream(device);
  const Stream on_second(second);
  MemoryPool outer(device), inner(device), other(second);
  const auto used = [&] {
    const std::uint64_t before[] = {outer.allocated_bytes(), inner.allocated_bytes(), other.allocated_bytes()};
    const Buffer here(stream, mib);
    const Buffer there(on_second, mib);
    std::string names;
    if (outer.allocated_bytes() != before[0]) names += "outer ";
    if (inner.allocated_bytes() != before[1]) names += "inner ";
    if (other.allocated_bytes() != before[2]) names += "other ";
    return names;
  };
  CHECK(used().empty());
  {
    const MemoryPoolGuard first(outer);
    CHECK(used() == "outer ");
    {
      const MemoryPoolGuard on_other(other);
      CHECK(used() == "outer other ");
      const MemoryPoolGuard again(inner);
      CHECK(used() == "inner other ");
    }
    CHECK(used() == "outer ");
  }
  CHECK(used().empty());
  auto first = std::make_unique<MemoryPoolGuard>(outer);
  const auto last = std::make_unique<MemoryPoolGuard>(inner);
  first.reset();
  CHECK(used() == "inner ");
}

TEST_CASE("A null pool is an invalid handle and does no harm") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  MemoryPool pool(device);
  const std::uint64_t id = pool.id();
  MemoryPool moved(std::move(pool));
  CHECK(moved.id() == id);
  for (MemoryPool* const null : {&pool}) {  // NOLINT: the moved-from state is promised
    CHECK_FALSE(*null);
    CHECK(null->id() == 0);
    CHECK_THAT(refused(ErrorCode::invalid_handle, [&] { static_cast<void>(null->reserved_bytes()); }),
               Catch::Contains("moved from"));
    refused(ErrorCode::invalid_handle, [&] { static_cast<void>(null->allocated_bytes()); });
    refused(ErrorCode::invalid_handle, [&] { null->release_free(); });
    refused(ErrorCode::invalid_handle, [&] { const MemoryPoolGuard guard(*null); });
  }
  MemoryPool none;
  CHECK_FALSE(none);
  none = std::move(moved);
  CHECK(none.id() == id);
  const Buffer buffer(stream, 100);
  CHECK(none.allocated_bytes() == 0);
}

TEST_CASE("A guard goes on when its pool is moved or destroyed") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  auto pool = std::make_unique<MemoryPool>(device);
  auto guard = std::make_unique<MemoryPoolGuard>(*pool);
  MemoryPool moved(std::move(*pool));
  pool.reset();
  auto first = std::make_unique<Buffer>(stream, 3 * mib);
  CHECK(moved.allocated_bytes() == 3 * mib);
  moved = MemoryPool();
  const Buffer second = upload(stream, pattern(100));
  const Buffer third = upload(stream, pattern(3 * mib));
  guard.reset();
  first.reset();
  CHECK(download(stream, second) == pattern(100));
  CHECK(download(stream, third) == pattern(3 * mib));
}

TEST_CASE("Buffers outlive their pool and its memory goes back after them") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto reserved = [&] { return memory_stats(device)["reserved_bytes.all.current"]; };
  std::unique_ptr<Buffer> buffer;
  {
    const MemoryPool pool(device);
    const MemoryPoolGuard guard(pool);
    buffer = std::make_unique<Buffer>(stream, 8 * mib);
    const Buffer freed(stream, 8 * mib);
  }
  CHECK(reserved() >= 8 * static_cast<std::int64_t>(mib));
  const Bytes bytes = pattern(8 * mib);
  stream.copy(*buffer, bytes);
  CHECK(download(stream, *buffer) == bytes);
  buffer.reset();
  device.synchronize();
  empty_cache(device);
  CHECK(reserved() == 0);
}

TEST_CASE("A pool gives back what is free in it, and only that") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  MemoryPool pool(device);
  { const Buffer common(stream, 8 * mib); }
  const auto reserved = [&] { return memory_stats(device)["reserved_bytes.all.current"]; };
  const std::int64_t common = reserved();
  {
    const MemoryPoolGuard guard(pool);
    const Buffer inside(stream, 8 * mib);
  }
  stream.synchronize();
  CHECK(pool.reserved_bytes() >= 8 * mib);
  CHECK(pool.allocated_bytes() == 0);
  pool.release_free();
  CHECK(pool.reserved_bytes() == 0);
  CHECK(reserved() <= common);  // less where pages that were free outside had moved in
}

TEST_CASE("A pool's limit is its own") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  MemoryPoolOptions options;
  options.limit_bytes = 16 * mib;
  MemoryPool pool(device, options);
  {
    const MemoryPoolGuard guard(pool);
    auto first = std::make_unique<Buffer>(stream, 12 * mib);
    const Error error = error_of([&] { const Buffer second(stream, 12 * mib); });
    CHECK(error.code() == ErrorCode::out_of_memory);
    REQUIRE(error.memory().has_value());
    CHECK(error.memory()->requested == 12 * mib);
    CHECK(error.memory()->limit == 16 * mib);
    CHECK(pool.reserved_bytes() <= 16 * mib);
    first.reset();
    const Buffer third(stream, 16 * mib);  // what is cached makes room
    CHECK(pool.reserved_bytes() == 16 * mib);
  }
  const Buffer outside(stream, 64 * mib);
  CHECK(pool.allocated_bytes() == 0);
}

TEST_CASE("A pool for every request of a thread's leaves nothing behind") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  for (int i = 0; i < 200; ++i) {
    const MemoryPool pool(device);
    const MemoryPoolGuard guard(pool);
    const Buffer small(stream, 1000);
    const Buffer large(stream, 3 * mib);
  }
  device.synchronize();
  empty_cache(device);
  CHECK(memory_stats(device)["reserved_bytes.all.current"] == 0);
}

TEST_CASE("A pool may go inside a host function") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  auto pool = std::make_shared<MemoryPool>(device);
  {
    const MemoryPoolGuard guard(*pool);
    const Buffer buffer(stream, 3 * mib);
  }
  stream.launch_host_func([pool = std::move(pool)]() mutable { pool.reset(); });
  stream.synchronize();
  // The service thread ends it.
  do {
    std::this_thread::yield();
    empty_cache(device);
  } while (memory_stats(device)["reserved_bytes.all.current"] != 0);
  SUCCEED();
}

TEST_CASE("With caching off a pool has no effect on Buffers") {
  test::set_env("ANYPLACE_ALLOCATOR", "caching:false");
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const MemoryPool pool(device);
  const MemoryPoolGuard guard(pool);
  const Buffer buffer = upload(stream, pattern(1000));
  CHECK(pool.allocated_bytes() == 0);
  CHECK(download(stream, buffer) == pattern(1000));
}

TEST_CASE("Pools are under adaptors too") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  set_allocator(device, std::make_shared<TrackingAllocator>(caching_allocator(device)));
  const MemoryPool pool(device);
  const MemoryPoolGuard guard(pool);
  const Buffer buffer(stream, 3 * mib);
  CHECK(pool.allocated_bytes() == 3 * mib);
}

namespace {

/// A pool with `bytes` in it that pending work of the stream writes, and which nobody has any more: pool and buffer are
/// gone when this returns. Returns where it was.
std::uint64_t leave_behind(const Device& device, const Stream& stream, std::uint64_t bytes) {
  const MemoryPool pool(device);
  const MemoryPoolGuard guard(pool);
  const Buffer buffer(stream, bytes);
  stream.memset8(buffer, 1);
  return buffer.address();
}

/// A device whose allocator has that kind of segments; each kind has a device of its own.
Device device_with(const std::string& segments) {
  const Device device(segments == "virtual" ? "cpu_sim:0" : "sim_full:0");
  const AllocatorConfig wanted = AllocatorConfig::parse("segments:" + segments);
  if (allocator_config(device).to_string() != wanted.to_string()) configure_allocator(device, wanted);
  return device;
}

}  // namespace

TEST_CASE("What a pool leaves behind isn't another stream's before the work that uses it is done") {
  const Device device = device_with(GENERATE("virtual", "classic"));
  for (const std::uint64_t bytes : {std::uint64_t{4096}, 3 * mib, 40 * mib}) {
    const Stream stream(device);
    const Stream other(device);
    HostGate gate(stream);
    const std::uint64_t address = leave_behind(device, stream, bytes);
    const Buffer theirs(other, bytes);
    CHECK(theirs.address() != address);
    other.memset8(theirs, 7);
    other.synchronize();
    gate.open();
    stream.synchronize();
    CHECK((download(other, theirs) == Bytes(bytes, 7)));  // without showing them
  }
}

TEST_CASE("What a pool leaves behind isn't given back to the device before the work that uses it is done") {
  const Device device = device_with(GENERATE("virtual", "classic"));
  const Stream stream(device);
  const auto reserved = [&] { return static_cast<std::uint64_t>(memory_stats(device)["reserved_bytes.all.current"]); };
  {
    const HostGate gate(stream);
    leave_behind(device, stream, 40 * mib);
    empty_cache(device);
    CHECK(reserved() >= 40 * mib);
  }
  stream.synchronize();  // the work has its memory still
  empty_cache(device);
  CHECK(reserved() == 0);
}

TEST_CASE("What a pool leaves behind is its stream's at once, and others' when its work is done") {
  const Device device = device_with(GENERATE("virtual", "classic"));
  const Stream stream(device);
  const Stream other(device);
  HostGate gate(stream);
  const std::uint64_t address = leave_behind(device, stream, 40 * mib);
  {
    const Buffer again(stream, 40 * mib);
    CHECK(again.address() == address);
  }
  const std::int64_t calls = memory_stats(device)["num_device_alloc"];
  leave_behind(device, stream, 20 * mib);
  gate.open();
  stream.synchronize();
  const Buffer theirs(other, 20 * mib);
  CHECK(memory_stats(device)["num_device_alloc"] <= calls + 1);  // for the pool's
}

TEST_CASE("What a pool leaves behind outlives its stream too, for as long as its work takes") {
  const Device device = device_with(GENERATE("virtual", "classic"));
  const bool stream_first = GENERATE(false, true);
  const Stream other(device);
  auto stream = std::make_unique<Stream>(device);
  HostGate gate(*stream);
  auto pool = std::make_unique<MemoryPool>(device);
  std::uint64_t address = 0;
  {
    const MemoryPoolGuard guard(*pool);
    const Buffer buffer(*stream, 40 * mib);
    stream->memset8(buffer, 1);
    address = buffer.address();
  }
  if (stream_first) stream.reset();
  pool.reset();
  stream.reset();
  empty_cache(device);
  {
    const Buffer theirs(other, 40 * mib);
    CHECK(theirs.address() != address);
    other.memset8(theirs, 7);
    other.synchronize();
    gate.open();
    device.synchronize();
    CHECK((download(other, theirs) == Bytes(40 * mib, 7)));
  }
  device.synchronize();
  empty_cache(device);
  CHECK(memory_stats(device)["reserved_bytes.all.current"] == 0);
}

}  // namespace pools_test
