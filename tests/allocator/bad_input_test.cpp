// SPDX-License-Identifier: Apache-2.0
// What may be said wrongly to an allocator: each is told, and harms nobody.
#include <thread>

#include "memory/memory_support.h"

namespace bad_input_test {

using namespace anyplace;
using namespace memory_test;

namespace {

std::vector<std::shared_ptr<Allocator>> both_of(const Device& device) {
  return {caching_allocator(device), raw_allocator(device)};
}

}  // namespace

TEST_CASE("0 bytes give address 0, which is taken back") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  for (const auto& allocator : both_of(device)) {
    CHECK(allocator->allocate(stream, 0) == 0);
    CHECK_NOTHROW(allocator->deallocate(stream, 0, 0));
  }
}

TEST_CASE("Memory freed twice is refused the second time") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  for (const auto& allocator : both_of(device)) {
    for (const std::uint64_t bytes : {std::uint64_t{100}, std::uint64_t{5} << 20}) {
      const std::uint64_t address = allocator->allocate(stream, bytes);
      allocator->deallocate(stream, address, bytes);
      refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(stream, address, bytes); });
      // Nor does anybody get it twice.
      const std::uint64_t first = allocator->allocate(stream, bytes);
      const std::uint64_t second = allocator->allocate(stream, bytes);
      CHECK(first != second);
      allocator->deallocate(stream, first, bytes);
      allocator->deallocate(stream, second, bytes);
    }
  }
}

TEST_CASE("An address that was never given, or is inside what was, is refused") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  int local = 0;
  for (const auto& allocator : both_of(device)) {
    const std::uint64_t address = allocator->allocate(stream, 4096);
    for (const std::uint64_t wrong : {reinterpret_cast<std::uint64_t>(&local), std::uint64_t{1}, UINT64_MAX,
                                      address + 1, address + 512, address + 4095, address - 1, std::uint64_t{0}}) {
      INFO(wrong);
      refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(stream, wrong, 4096); });
    }
    CHECK_THAT(refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(stream, address + 512, 3584); }),
               Catch::Contains("inside"));
    allocator->deallocate(stream, address, 4096);
  }
}

TEST_CASE("Memory of one allocator is none of another's") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto all = both_of(device);
  const std::uint64_t cached = all[0]->allocate(stream, 4096);
  const std::uint64_t raw = all[1]->allocate(stream, 4096);
  refused(ErrorCode::invalid_argument, [&] { all[1]->deallocate(stream, cached, 4096); });
  refused(ErrorCode::invalid_argument, [&] { all[0]->deallocate(stream, raw, 4096); });
  all[0]->deallocate(stream, cached, 4096);
  all[1]->deallocate(stream, raw, 4096);
}

TEST_CASE("Memory freed with another size or on another stream stays out") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream other(device);
  for (const auto& allocator : both_of(device)) {
    const std::uint64_t address = allocator->allocate(stream, 4096);
    for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{4095}, std::uint64_t{4097}, UINT64_MAX}) {
      CHECK_THAT(refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(stream, address, wrong); }),
                 Catch::Contains("4096"));
    }
    refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(other, address, 4096); });
    const std::uint64_t next = allocator->allocate(stream, 4096);
    CHECK(next != address);
    allocator->deallocate(stream, next, 4096);
    allocator->deallocate(stream, address, 4096);
  }
}

TEST_CASE("A size that nobody has is out of memory with the figures") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  for (const auto& allocator : both_of(device)) {
    for (const std::uint64_t bytes : {std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 511, std::uint64_t{1} << 62}) {
      const Error error = error_of([&] { allocator->allocate(stream, bytes); });
      CHECK(error.code() == ErrorCode::out_of_memory);
      REQUIRE(error.memory().has_value());
      CHECK(error.memory()->requested == bytes);
    }
    allocator->deallocate(stream, allocator->allocate(stream, 100), 100);
  }
}

TEST_CASE("A stream that is null, destroyed or of another device is refused") {
  const Device device("cpu_sim:0");
  const Device elsewhere("sim_full:0");
  const Stream foreign(elsewhere);
  StreamView gone;
  {
    const Stream stream(device);
    gone = stream;
  }
  for (const auto& allocator : both_of(device)) {
    refused(ErrorCode::invalid_handle, [&] { allocator->allocate(StreamView(), 100); });
    refused(ErrorCode::invalid_handle, [&] { allocator->allocate(gone, 100); });
    CHECK_THAT(refused(ErrorCode::invalid_argument, [&] { allocator->allocate(foreign, 100); }),
               Catch::Contains("sim_full:0"));
  }
}

TEST_CASE("Memory outlives its stream and is taken back after it") {
  const Device device("cpu_sim:0");
  for (const auto& allocator : both_of(device)) {
    auto stream = std::make_unique<Stream>(device);
    const StreamView view = *stream;
    const std::uint64_t address = allocator->allocate(view, 4096);
    const std::uint64_t second = allocator->allocate(view, 4096);
    allocator->deallocate(view, second, 4096);  // so that the thread knows the stream
    stream.reset();
    refused(ErrorCode::invalid_handle, [&] { allocator->allocate(view, 4096); });
    CHECK_NOTHROW(allocator->deallocate(view, address, 4096));
    refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(view, address, 4096); });
  }
}

TEST_CASE("Memory may be freed on another thread") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  for (const auto& allocator : both_of(device)) {
    const std::uint64_t address = allocator->allocate(stream, 4096);
    std::thread([&] { allocator->deallocate(stream, address, 4096); }).join();
    refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(stream, address, 4096); });
    std::thread([&] {
      refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(stream, address, 4096); });
    }).join();
    allocator->deallocate(stream, allocator->allocate(stream, 4096), 4096);
  }
}

TEST_CASE("After its device was lost an allocator takes memory back and gives none") {
  const CaughtReports reports;
  const Device device("sim_full:0");
  const Stream stream(device);
  const auto all = both_of(device);
  std::vector<std::uint64_t> addresses;
  for (const auto& allocator : all) {
    addresses.push_back(allocator->allocate(stream, 4096));
    allocator->deallocate(stream, allocator->allocate(stream, 100), 100);
  }
  const Buffer buffer(stream, 100);
  const MemoryPool pool(device);
  controls_of(device).lost = true;
  Bytes host(100);
  refused(ErrorCode::device_lost, [&] { stream.copy(host, buffer); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::uint64_t bytes : {std::uint64_t{100}, std::uint64_t{4096}, std::uint64_t{1} << 30}) {
      refused(ErrorCode::device_lost, [&] { all[i]->allocate(stream, bytes); });
    }
    CHECK_NOTHROW(all[i]->deallocate(stream, addresses[i], 4096));
    refused(ErrorCode::invalid_argument, [&] { all[i]->deallocate(stream, addresses[i], 4096); });
  }
  refused(ErrorCode::device_lost, [&] { const MemoryPool another(device); });
  CHECK(reports.all().empty());
}

TEST_CASE("Inside a host function allocators are not permitted and buffers may go") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto all = both_of(device);
  for (const auto& allocator : all) {
    const std::uint64_t address = allocator->allocate(stream, 4096);
    allocator->deallocate(stream, allocator->allocate(stream, 100), 100);
    auto buffer = std::make_shared<Buffer>(stream, 4096);
    std::vector<std::optional<ErrorCode>> codes;
    const auto code_of = [](auto&& call) -> std::optional<ErrorCode> {
      try {
        call();
      } catch (const Error& error) {
        return error.code();
      }
      return std::nullopt;
    };
    stream.launch_host_func([&, buffer = std::move(buffer)]() mutable {
      codes.push_back(code_of([&] { allocator->allocate(stream, 100); }));
      codes.push_back(code_of([&] { allocator->deallocate(stream, address, 4096); }));
      codes.push_back(code_of([&] { const MemoryPool pool(device); }));
      codes.push_back(code_of([&] { const PressureRegistration none(device, [](auto&&...) { return false; }); }));
      codes.push_back(code_of([&] { set_allocator(device, nullptr); }));
      buffer.reset();
    });
    stream.synchronize();
    REQUIRE(codes.size() == 5);
    for (const auto& code : codes) CHECK(code == ErrorCode::not_permitted);
    allocator->deallocate(stream, address, 4096);
  }
}

}  // namespace bad_input_test
