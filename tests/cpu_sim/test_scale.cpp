// SPDX-License-Identifier: Apache-2.0
//
// 10,000 streams and 1,000,000 queued operations together fit in 1 GiB; an idle stream is small.
#include <malloc.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <memory>

#include "plugin.h"

namespace test_scale_cases {

using namespace cpu_sim_test;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CPU_SIM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CPU_SIM_SANITIZED 1
#endif
#endif

namespace {

[[maybe_unused]] std::int64_t resident_bytes() {
  long pages = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  const int read = std::fscanf(file, "%ld %ld", &pages, &resident);
  std::fclose(file);
  return read == 2 ? resident * sysconf(_SC_PAGESIZE) : -1;
}

}  // namespace

TEST_CASE("Given 10,000 streams and 1,000,000 queued operations, Then they take less than 1 GiB, and all run") {
#ifdef CPU_SIM_SANITIZED
  std::printf("skipped: resident memory is not measured under a sanitizer, which has its own\n");
#else
  constexpr int stream_count = 10'000, operation_count = 100;
  Plugin plugin;
  Gate gate(plugin);
  std::atomic<std::uint64_t> ran{0};
  Kernel kernel(plugin, [&] { ran.fetch_add(1, std::memory_order_relaxed); });
  malloc_trim(0);  // what earlier cases freed would hide what this one takes
  const std::int64_t empty = resident_bytes();
  std::vector<std::unique_ptr<Stream> > streams;
  for (int i = 0; i < stream_count; ++i) streams.push_back(std::make_unique<Stream>(plugin));
  const std::int64_t idle = resident_bytes();
  CHECK((idle - empty) / stream_count < 2048);
  const std::uint64_t value = 1;
  for (int i = 0; i < operation_count; ++i) {
    for (auto& stream : streams) {
      if (i == 0) {
        stream->wait(gate);
      } else {
        stream->launch(kernel, {}, {{ANYPLACE_ARGUMENT_VALUE, sizeof(value), &value}});
      }
    }
  }
  const std::int64_t queued = resident_bytes();
  std::printf("idle stream: %lld bytes; queued kernel with an argument: %lld bytes; together %lld MiB\n",
              static_cast<long long>((idle - empty) / stream_count),
              static_cast<long long>((queued - idle) / (stream_count * operation_count)),
              static_cast<long long>((queued - empty) >> 20));
  CHECK((queued - idle) / (stream_count * operation_count) < 300);
  CHECK(queued - empty < std::int64_t{1} << 30);
  gate.open();
  CHECK(plugin.synchronize(0));
  CHECK(ran == std::uint64_t{stream_count} * (operation_count - 1));
#endif
}

TEST_CASE("Given a million operations queued on one stream, Then all run in order") {
#ifdef CPU_SIM_SANITIZED
  constexpr int operation_count = 50'000;
#else
  constexpr int operation_count = 1'000'000;
#endif
  Plugin plugin;
  Gate gate(plugin);
  Stream stream(plugin);
  std::atomic<std::uint64_t> ran{0};
  Kernel kernel(plugin, [&] { ran.fetch_add(1, std::memory_order_relaxed); });
  stream.wait(gate);
  for (int i = 0; i < operation_count; ++i) stream.launch(kernel);
  CHECK(ran == 0);
  gate.open();
  CHECK(stream.synchronize());
  CHECK(ran == operation_count);
}

}  // namespace test_scale_cases
