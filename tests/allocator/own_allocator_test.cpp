// SPDX-License-Identifier: Apache-2.0
// An allocator of the application's own behind Buffers.
#include <atomic>
#include <thread>

#include "memory/memory_support.h"

namespace own_allocator_test {

using namespace anyplace;
using namespace memory_test;

namespace {

/// Passes on, counts, and does on command what a bad one would.
class Own : public Allocator {
 public:
  explicit Own(std::shared_ptr<Allocator> upstream) : upstream_(std::move(upstream)) {}

  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override {
    if (throws) throw std::runtime_error("no more today");
    if (answer) return *answer;
    ++allocations;
    return upstream_->allocate(stream, bytes);
  }
  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override {
    ++deallocations;
    last_address = address;
    last_bytes = bytes;
    last_stream = stream.id();
    if (!answer) upstream_->deallocate(stream, address, bytes);
    if (throws) throw std::runtime_error("not taken");
  }

  std::atomic<int> allocations{0};
  std::atomic<int> deallocations{0};
  std::atomic<std::uint64_t> last_address{0};
  std::atomic<std::uint64_t> last_bytes{0};
  std::atomic<std::uint64_t> last_stream{0};
  std::atomic<bool> throws{false};
  std::optional<std::uint64_t> answer;

 private:
  std::shared_ptr<Allocator> upstream_;
};

std::shared_ptr<Own> own_on(const Device& device) { return std::make_shared<Own>(raw_allocator(device)); }

}  // namespace

TEST_CASE("Buffers get their memory from the allocator that was set and give it back there") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto own = own_on(device);
  const Buffer before(stream, 100);
  set_allocator(device, own);
  CHECK(current_allocator(device) == own);
  {
    const Buffer buffer = upload(stream, pattern(5000));
    CHECK(own->allocations == 1);
    CHECK(download(stream, buffer) == pattern(5000));
    const Buffer nothing(stream, 0);
    CHECK(own->allocations == 1);
    const std::uint64_t address = buffer.address();
    CHECK(own->deallocations == 0);
    { const Buffer moved = Buffer(stream, 300); }
    CHECK(own->last_bytes == 300);
    CHECK(address % 256 == 0);
  }
  CHECK(own->deallocations == 2);
  CHECK(own->last_bytes == 5000);
  CHECK(own->last_stream == stream.id());
}

TEST_CASE("Buffers give their memory back to where it came from whatever was set since") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto first = own_on(device);
  const auto second = own_on(device);
  const auto by_default = current_allocator(device);
  CHECK(set_allocator(device, first) == by_default);
  auto buffer = std::make_unique<Buffer>(stream, 100);
  CHECK(set_allocator(device, second) == first);
  buffer.reset();
  CHECK(first->deallocations == 1);
  CHECK(second->deallocations == 0);
  buffer = std::make_unique<Buffer>(stream, 100);
  CHECK(set_allocator(device, nullptr) == second);
  CHECK(current_allocator(device) == by_default);
  buffer.reset();
  CHECK(second->deallocations == 1);
}

TEST_CASE("An allocator lives as long as a buffer from it") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  auto own = own_on(device);
  const std::weak_ptr<Own> watched = own;
  set_allocator(device, std::move(own));
  auto buffer = std::make_unique<Buffer>(stream, 100);
  set_allocator(device, nullptr);
  CHECK_FALSE(watched.expired());
  buffer.reset();
  device.synchronize();
  CHECK(watched.expired());
}

TEST_CASE("The default allocator set by name is the default") {
  const Device device("cpu_sim:0");
  const auto by_default = current_allocator(device);
  CHECK(by_default == caching_allocator(device));
  CHECK(set_allocator(device, by_default) == by_default);
  set_allocator(device, raw_allocator(device));
  CHECK(current_allocator(device) == raw_allocator(device));
  CHECK(set_allocator(device, by_default) == raw_allocator(device));
  CHECK(current_allocator(device) == by_default);
}

TEST_CASE("The raw allocator behind Buffers asks the device for each") {
  const Device device("sim_plain:0");
  const Stream stream(device);
  set_allocator(device, raw_allocator(device));
  for (std::uint64_t i = 1; i <= 3; ++i) {
    { const Buffer buffer(stream, 4096); }
    CHECK(controls_of(device).allocations == i);
  }
}

TEST_CASE("What an allocator throws from allocate reaches who makes the buffer") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto own = own_on(device);
  set_allocator(device, own);
  own->throws = true;
  CHECK_THROWS_WITH(Buffer(stream, 100), "no more today");
  own->throws = false;
  CHECK_NOTHROW(Buffer(stream, 100));
}

TEST_CASE("What an allocator throws from deallocate goes to the error handler") {
  const CaughtReports reports;
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto own = own_on(device);
  set_allocator(device, own);
  {
    const Buffer buffer(stream, 100);
    own->throws = true;
  }
  REQUIRE(reports.all().size() == 1);
  CHECK_THAT(reports.all().front(),
             Catch::Contains("cpu_sim:0: Allocator::deallocate") && Catch::Contains("not taken"));
  own->throws = false;
}

TEST_CASE("An allocator that gives address 0 or a crooked one is named as the fault") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto own = own_on(device);
  set_allocator(device, own);
  own->answer = 0;
  CHECK_THAT(refused(ErrorCode::backend_failed, [&] { const Buffer buffer(stream, 100); }),
             Catch::Contains("set_allocator") && Catch::Contains("Own") && Catch::Contains("address 0"));
  CHECK(own->deallocations == 0);
  own->answer = 0x10'0001;
  CHECK_THAT(refused(ErrorCode::backend_failed, [&] { const Buffer buffer(stream, 100); }),
             Catch::Contains("Own") && Catch::Contains("0x100001"));
  CHECK(own->deallocations == 1);  // it isn't kept
  CHECK(own->last_address == 0x10'0001u);
}

TEST_CASE("Memory of an own allocator that another stream uses goes back when that stream's work is done") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream user(device);
  const auto own = own_on(device);
  set_allocator(device, own);
  {
    HostGate gate(user);
    {
      const Buffer buffer(stream, 4096);
      buffer.record_stream(user);
    }
    device.default_stream().synchronize();
    { const Buffer other(stream, 100); }  // looks for what is done
    CHECK(own->deallocations == 1);
    gate.open();
  }
  device.synchronize();
  { const Buffer other(stream, 100); }
  CHECK(own->deallocations == 3);
}

TEST_CASE("A buffer of an own allocator goes inside a host function and after its stream") {
  const Device device("cpu_sim:0");
  const auto own = own_on(device);
  set_allocator(device, own);
  {
    const Stream stream(device);
    auto buffer = std::make_shared<Buffer>(stream, 100);
    stream.launch_host_func([buffer = std::move(buffer)]() mutable { buffer.reset(); });
    stream.synchronize();
    while (own->deallocations != 1) std::this_thread::yield();  // the service thread does it
  }
  auto stream = std::make_unique<Stream>(device);
  auto buffer = std::make_unique<Buffer>(*stream, 100);
  stream.reset();
  buffer.reset();
  device.synchronize();
  CHECK(own->deallocations == 2);
}

TEST_CASE("A buffer of an own allocator goes after its device was lost") {
  const CaughtReports reports;
  const Device device("sim_full:0");
  const Stream stream(device);
  const auto own = own_on(device);
  set_allocator(device, own);
  auto buffer = std::make_unique<Buffer>(stream, 100);
  controls_of(device).lost = true;
  Bytes host(100);
  refused(ErrorCode::device_lost, [&] { stream.copy(host, *buffer); });
  buffer.reset();
  CHECK(own->deallocations == 1);
  CHECK(reports.all().empty());
  refused(ErrorCode::device_lost, [&] { const Buffer next(stream, 100); });
}

TEST_CASE("Managed memory comes from the device whatever allocator is set") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto own = own_on(device);
  set_allocator(device, own);
  { const Buffer buffer(stream, 100, {MemoryKind::managed}); }
  CHECK(own->allocations == 0);
}

TEST_CASE("Buffers are made while allocators change") {
  const Device device("cpu_sim:0");
  const auto own = own_on(device);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      const Stream stream(device);
      while (!stop) const Buffer buffer(stream, 1000);
    });
  }
  for (int i = 0; i < 200; ++i) {
    set_allocator(device, own);
    set_allocator(device, nullptr);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  device.synchronize();
  CHECK(own->allocations == own->deallocations);
}

}  // namespace own_allocator_test
