// SPDX-License-Identifier: Apache-2.0
// The allocator at the end of the process: what is idle goes back as far as time allows, what is in use stays.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "memory/memory_support.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace exit_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mib = 1024 * 1024;

/// What a process says that ends when `body` returns. A minute is less than giving everything back would take.
test::Ended ended(const std::function<void()>& body) {
  return test::in_child(
      [&] {
        body();
        return 0;
      },
      std::chrono::minutes(1));
}

/// Nothing runs, and giving back all that is cached would take minutes.
void leave_much_to_give_back(const char* segments) {
  const Device device("sim_full:0");
  configure_allocator(device, AllocatorConfig::parse(std::string("segments:") + segments));
  const Stream stream(device);
  for (int i = 0; i < 60; ++i) {
    const MemoryPool pool(device);
    const MemoryPoolGuard guard(pool);
    static std::vector<Buffer> all;
    all.emplace_back(stream, 12 * mib);
    if (i == 59) all.clear();
  }
  stream.synchronize();
  controls_of(device).slow_give_back_ms = 1000;
}

}  // namespace

TEST_CASE("A process that only has memory to give back ends without a word") {
  const std::string segments = GENERATE("virtual", "classic");
  const test::Ended result = ended([&] { leave_much_to_give_back(segments.c_str()); });
  CHECK_FALSE(result.hung);
  CHECK(result.signal == 0);
  CHECK(result.status == 0);
  CHECK(result.out == "");
}

TEST_CASE("A process that only has pinned memory to give back ends without a word") {
  const test::Ended result = ended([] {
    const Device device("sim_full:0");
    std::vector<HostBuffer> all;
    for (int i = 0; i < 100; ++i) all.emplace_back(device, 4096);
    controls_of(device).slow_give_back_ms = 1000;
  });
  CHECK_FALSE(result.hung);
  CHECK(result.status == 0);
  CHECK(result.out == "");
}

TEST_CASE("In virtual time all that is idle goes back at the exit, so that a slow machine's report has as many calls") {
  const auto report_with_frees_of = [](std::uint64_t ms) {
    const test::TempDir folder;
    const test::Ended result = ended([&] {
      setenv("ANYPLACE_CPU_SIM_MODE", "deterministic", 1);
      setenv("ANYPLACE_CPU_SIM_REPORT", folder.file("report").c_str(), 1);
      const Device device("sim_full:0");
      const Stream stream(device);
      std::vector<HostBuffer> all;
      for (int i = 0; i < 20; ++i) all.emplace_back(device, 4096);
      controls_of(device).slow_give_back_ms = ms;
    });
    INFO(result.out);
    CHECK_FALSE(result.hung);
    CHECK(result.status == 0);
    return test::read_file(folder / "report");
  };
  const std::string report = report_with_frees_of(0);
  CHECK_THAT(report, Catch::Contains("\"calls\":"));
  CHECK(report_with_frees_of(250) == report);
}

TEST_CASE("A process that ends while a kernel runs leaves the kernel its memory, and says that it runs") {
  const std::string segments = GENERATE("virtual", "classic");
  const bool in_pool = GENERATE(false, true);
  const test::Ended result = ended([&] {
    const Device device("cpu_sim:0");
    configure_allocator(device, AllocatorConfig::parse("segments:" + segments));
    const Stream stream(device);
    const MemoryPool pool(device);
    std::unique_ptr<MemoryPoolGuard> guard;
    if (in_pool) guard = std::make_unique<MemoryPoolGuard>(pool);
    const Buffer buffer(stream, 40 * mib);
    auto* const memory = reinterpret_cast<volatile std::uint8_t*>(static_cast<std::uintptr_t>(buffer.address()));
    static std::atomic<bool> begun{false};
    const Kernel endless(device, [memory](const Block&) {
      for (std::uint64_t i = 0;; i = (i + 4096) % (40 * mib)) {
        memory[i] = 1;
        begun = true;
      }
    });
    stream.launch(endless, {1, 1});
    while (!begun) std::this_thread::yield();
  });
  INFO(result.out);
  CHECK_FALSE(result.hung);
  CHECK(result.signal == 0);
  CHECK(result.status == 0);
  CHECK_THAT(result.out, Catch::Contains("left behind"));
}

}  // namespace exit_test
