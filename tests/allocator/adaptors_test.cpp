// SPDX-License-Identifier: Apache-2.0
// The adaptors, alone and on each other, over the caching allocator and the device's own allocations.
#include <set>
#include <thread>

#include "memory/memory_support.h"

namespace adaptors_test {

using namespace anyplace;
using namespace memory_test;

namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char character : line) {
    if (character == ',') {
      fields.emplace_back();
    } else {
      fields.back() += character;
    }
  }
  return fields;
}

/// What a logging allocator told.
struct Log {
  std::vector<std::string> lines;
  std::mutex mutex;  // guards lines
  std::function<void(std::string_view)> sink() {
    return [this](std::string_view line) {
      const std::lock_guard lock(mutex);
      lines.emplace_back(line);
    };
  }
};

}  // namespace

TEST_CASE("A limit allocator gives out so many bytes at once and no more") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  for (const auto& below : {caching_allocator(device), raw_allocator(device)}) {
    const auto limited = limit_allocator(below, 1000);
    const std::uint64_t first = limited->allocate(stream, 600);
    const Error error = error_of([&] { limited->allocate(stream, 401); });
    CHECK(error.code() == ErrorCode::out_of_memory);
    CHECK(error.place() == "cpu_sim:0");
    CHECK(error.operation() == "limit_allocator");
    REQUIRE(error.memory().has_value());
    CHECK(error.memory()->requested == 401);
    CHECK(error.memory()->in_use == 600);
    CHECK(error.memory()->limit == 1000u);
    CHECK(error.memory()->free == 400u);
    const std::uint64_t second = limited->allocate(stream, 400);  // to the last byte
    refused(ErrorCode::out_of_memory, [&] { limited->allocate(stream, 1); });
    limited->deallocate(stream, first, 600);
    const std::uint64_t third = limited->allocate(stream, 600);
    limited->deallocate(stream, second, 400);
    limited->deallocate(stream, third, 600);
  }
}

TEST_CASE("A limit allocator takes no size for a small one") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto limited = limit_allocator(caching_allocator(device), UINT64_MAX);
  const std::uint64_t address = limited->allocate(stream, 512);
  for (const std::uint64_t bytes : {UINT64_MAX, std::uint64_t{1} << 63}) {
    refused(ErrorCode::out_of_memory, [&] { limited->allocate(stream, bytes); });
  }
  limited->deallocate(stream, address, 512);
}

TEST_CASE("A limit allocator counts what failed below it or was refused there as never given") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto limited = limit_allocator(failing_allocator(caching_allocator(device), 1), 1000);
  refused(ErrorCode::out_of_memory, [&] { limited->allocate(stream, 1000); });
  const std::uint64_t address = limited->allocate(stream, 1000);
  refused(ErrorCode::invalid_argument, [&] { limited->deallocate(stream, address, 999); });
  refused(ErrorCode::out_of_memory, [&] { limited->allocate(stream, 1); });
  limited->deallocate(stream, address, 1000);
  limited->deallocate(stream, limited->allocate(stream, 1000), 1000);
}

TEST_CASE("A limit holds with several threads at it") {
  const Device device("cpu_sim:0");
  const auto tracked = std::make_shared<TrackingAllocator>(caching_allocator(device));
  const auto limited = limit_allocator(tracked, 10 * 512);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Stream stream(device);
      for (int i = 0; i < 500; ++i) {
        std::vector<std::uint64_t> mine;
        for (int k = 0; k < 4; ++k) {
          try {
            mine.push_back(limited->allocate(stream, 512));
          } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory) throw;
          }
        }
        for (const std::uint64_t address : mine) limited->deallocate(stream, address, 512);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(tracked->peak_bytes() <= 10 * 512);
  CHECK(tracked->outstanding_bytes() == 0);
}

TEST_CASE("A logging allocator tells of every call") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Log log;
  const auto logged = logging_allocator(failing_allocator(caching_allocator(device), 2), log.sink());
  const std::uint64_t address = logged->allocate(stream, 700);
  refused(ErrorCode::out_of_memory, [&] { logged->allocate(stream, 800); });
  refused(ErrorCode::invalid_argument, [&] { logged->deallocate(stream, address + 1, 700); });
  logged->deallocate(stream, address, 700);
  REQUIRE(log.lines.size() == 5);
  std::vector<std::vector<std::string>> lines;
  for (const std::string& line : log.lines) lines.push_back(fields_of(line));
  const char* const expected[] = {"allocate", "failed", "free", "refused", "free"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    INFO(log.lines[i]);
    REQUIRE(lines[i].size() == 5);
    CHECK(lines[i][0] == expected[i]);
    CHECK(lines[i][1] == lines[0][1]);  // the thread
    CHECK(lines[i][2] == std::to_string(stream.id()));
    CHECK(lines[i][4] == (i == 1 ? "800" : "700"));
  }
  CHECK(std::stoull(lines[0][3], nullptr, 16) == address);
  CHECK(lines[1][3] == "0x0");
  CHECK(lines[4][3] == lines[0][3]);
}

TEST_CASE("A sink that throws changes nothing and is told to the error handler") {
  const CaughtReports reports;
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto logged =
      logging_allocator(caching_allocator(device), [](std::string_view) { throw std::runtime_error("full"); });
  logged->deallocate(stream, logged->allocate(stream, 512), 512);
  REQUIRE(reports.all().size() == 2);
  CHECK_THAT(reports.all().front(), Catch::Contains("logging_allocator") && Catch::Contains("full"));
}

TEST_CASE("A failing allocator fails the n-th allocation, or that and all after it") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto once = failing_allocator(caching_allocator(device), 3);
  const auto for_good = failing_allocator(caching_allocator(device), 3, true);
  for (int number = 1; number <= 5; ++number) {
    CHECK(once->allocate(stream, 0) == 0);  // isn't counted
    for (const auto& allocator : {once, for_good}) {
      if (number == 3 || (number > 3 && allocator == for_good)) {
        const Error error = error_of([&] { allocator->allocate(stream, 512); });
        CHECK(error.code() == ErrorCode::out_of_memory);
        CHECK_THAT(error.text(), Catch::Contains("allocation " + std::to_string(number)));
        CHECK(error.memory()->requested == 512);
      } else {
        allocator->deallocate(stream, allocator->allocate(stream, 512), 512);
      }
    }
  }
}

TEST_CASE("A tracking allocator knows what is out") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream other(device);
  TrackingAllocator tracked(caching_allocator(device));
  CHECK(tracked.report().empty());
  const std::uint64_t first = tracked.allocate(stream, 1000);
  const std::uint64_t second = tracked.allocate(other, 300);
  CHECK(tracked.allocate(stream, 0) == 0);
  CHECK(tracked.outstanding_bytes() == 1300);
  CHECK(tracked.outstanding_allocations() == 2);
  const std::string report = tracked.report();
  CHECK(std::count(report.begin(), report.end(), '\n') == 2);
  CHECK_THAT(report, Catch::Contains("1000 bytes, stream " + std::to_string(stream.id()) + ", allocation 1\n"));
  CHECK_THAT(report, Catch::Contains("300 bytes, stream " + std::to_string(other.id()) + ", allocation 2\n"));
  tracked.deallocate(stream, first, 1000);
  CHECK(tracked.outstanding_bytes() == 300);
  tracked.deallocate(other, second, 300);
  tracked.deallocate(stream, 0, 0);
  CHECK(tracked.outstanding_allocations() == 0);
  CHECK(tracked.peak_bytes() == 1300);
  CHECK(tracked.report().empty());
}

TEST_CASE("A tracking allocator refuses what isn't out and stays right") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream other(device);
  TrackingAllocator tracked(raw_allocator(device));
  const std::uint64_t address = tracked.allocate(stream, 1000);
  refused(ErrorCode::invalid_argument, [&] { tracked.deallocate(stream, address, 1001); });
  refused(ErrorCode::invalid_argument, [&] { tracked.deallocate(other, address, 1000); });
  refused(ErrorCode::invalid_argument, [&] { tracked.deallocate(stream, address + 256, 744); });
  refused(ErrorCode::invalid_argument, [&] { tracked.deallocate(stream, 0, 1000); });
  CHECK(tracked.outstanding_bytes() == 1000);
  tracked.deallocate(stream, address, 1000);
  refused(ErrorCode::invalid_argument, [&] { tracked.deallocate(stream, address, 1000); });
  CHECK(tracked.outstanding_bytes() == 0);
}

TEST_CASE("A tracking allocator keeps what the one below wouldn't take") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto below = caching_allocator(device);
  TrackingAllocator tracked(below);
  const std::uint64_t address = tracked.allocate(stream, 1000);
  below->deallocate(stream, address, 1000);  // behind its back
  refused(ErrorCode::invalid_argument, [&] { tracked.deallocate(stream, address, 1000); });
  CHECK(tracked.outstanding_bytes() == 1000);
}

TEST_CASE("Adaptors stack in any order") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::vector<int> order{0, 1, 2, 3};
  do {
    Log log;
    std::shared_ptr<TrackingAllocator> tracked;
    std::shared_ptr<Allocator> top = caching_allocator(device);
    for (const int which : order) {
      if (which == 0) top = limit_allocator(top, 10'000);
      if (which == 1) top = logging_allocator(top, log.sink());
      if (which == 2) top = failing_allocator(top, 2);
      if (which == 3) top = tracked = std::make_shared<TrackingAllocator>(top);
    }
    const std::uint64_t address = top->allocate(stream, 5000);
    refused(ErrorCode::out_of_memory, [&] { top->allocate(stream, 100); });   // the second
    refused(ErrorCode::out_of_memory, [&] { top->allocate(stream, 5001); });  // over the limit
    CHECK(tracked->outstanding_bytes() == 5000);
    top->deallocate(stream, address, 5000);
    CHECK(tracked->outstanding_bytes() == 0);
    CHECK(log.lines.size() >= 2);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("Adaptors and allocators work for Buffers") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto tracked = std::make_shared<TrackingAllocator>(current_allocator(device));
  const auto before = set_allocator(device, limit_allocator(tracked, 8192));
  {
    Buffer first(stream, 5000);
    CHECK(tracked->outstanding_bytes() == 5000);
    CHECK(download(stream, upload(stream, pattern(3000))) == pattern(3000));
    refused(ErrorCode::out_of_memory, [&] { const Buffer second(stream, 3193); });
    const Buffer second(stream, 3192);
    CHECK(tracked->outstanding_allocations() == 2);
  }
  device.synchronize();
  CHECK(tracked->outstanding_bytes() == 0);
  set_allocator(device, before);
  const Buffer third(stream, 100'000);
  CHECK(tracked->outstanding_bytes() == 0);
}

TEST_CASE("An adaptor on nothing and one that makes no sense are refused when they are made") {
  const Device device("cpu_sim:0");
  CHECK_THAT(refused(ErrorCode::invalid_argument, [] { limit_allocator(nullptr, 1); }), Catch::Contains("null"));
  refused(ErrorCode::invalid_argument, [] { logging_allocator(nullptr, [](std::string_view) {}); });
  refused(ErrorCode::invalid_argument, [] { failing_allocator(nullptr, 1); });
  refused(ErrorCode::invalid_argument, [] { TrackingAllocator tracked(nullptr); });
  refused(ErrorCode::invalid_argument, [&] { logging_allocator(caching_allocator(device), nullptr); });
  refused(ErrorCode::invalid_argument, [&] { failing_allocator(caching_allocator(device), 0); });
}

}  // namespace adaptors_test
