// SPDX-License-Identifier: Apache-2.0
//
// What an allocation and its free take, of device memory through anyplace and of host memory through the general
// allocators: the same sizes in the same order, in one process. No byte is touched. `table` runs it.
//
//   allocator_cost [--place=cpu_sim:0] [--benchmark_...]
//
// A case is named WHAT/BYTES/WHO. One iteration is one allocation and one free.
#include <anyplace/allocator.h>
#include <anyplace/anyplace.h>
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../options.h"
#include "host_allocators.h"

namespace {

constexpr std::array<std::uint64_t, 6> sizes = {512, 4096, 65536, 1 << 20, 64 << 20, 256 << 20};
constexpr std::size_t live_blocks = 64;

// -- Who: something with a block type, allocate(bytes) and deallocate(block). One for each thread.

struct ThroughAllocator {
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  explicit ThroughAllocator(const anyplace::Device& device)
      : allocator(anyplace::caching_allocator(device)), stream(device) {}
  Block allocate(std::uint64_t bytes) const { return {allocator->allocate(stream, bytes), bytes}; }
  void deallocate(const Block& block) const { allocator->deallocate(stream, block.address, block.bytes); }

  std::shared_ptr<anyplace::Allocator> allocator;
  anyplace::Stream stream;
};

struct ThroughBuffer {
  using Block = anyplace::Buffer;
  explicit ThroughBuffer(const anyplace::Device& device) : stream(device) {}
  Block allocate(std::uint64_t bytes) const { return Block(stream, bytes); }
  void deallocate(Block& block) const { block = Block(); }

  anyplace::Stream stream;
};

struct ThroughHost {
  using Block = void*;
  explicit ThroughHost(const bench::HostAllocator& host) : allocator(host) {}
  Block allocate(std::uint64_t bytes) const { return allocator.allocate(bytes); }
  void deallocate(Block block) const { allocator.deallocate(block); }

  bench::HostAllocator allocator;
};

// -- What.

/// The size that was freed last is asked for again.
template <class Who>
void hit(benchmark::State& state, const Who& who, std::uint64_t bytes) {
  auto warm = who.allocate(bytes);
  who.deallocate(warm);
  for ([[maybe_unused]] auto _ : state) {
    auto block = who.allocate(bytes);
    benchmark::DoNotOptimize(block);
    who.deallocate(block);
  }
}

/// xorshift64 (Marsaglia 2003).
std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/// Random ones of 64 live blocks give way to others: sizes from a list of 16, as a model's layers have them (a hit), or
/// sizes that don't come again (a miss).
template <class Who>
void churn(benchmark::State& state, const Who& who, bool repeating, std::uint64_t largest) {
  std::uint64_t random = 88172645463325252u;
  std::uint64_t fresh = 0;
  const auto next_size = [&] {
    const std::uint64_t drawn = next_random(random);
    if (repeating) return largest / 16 * (drawn % 16 + 1);
    fresh = (fresh + 512 * 769) % largest;  // every multiple of 512 once before any comes again
    return fresh + 512;
  };
  std::vector<decltype(who.allocate(1))> live;
  for (std::size_t i = 0; i < live_blocks; ++i) live.push_back(who.allocate(next_size()));
  const auto replace_one = [&] {
    auto& block = live[next_random(random) % live_blocks];
    who.deallocate(block);
    block = who.allocate(next_size());
  };
  for (std::size_t i = 0; i < 40 * live_blocks; ++i) replace_one();  // what is cached by then is what a long run has
  for ([[maybe_unused]] auto _ : state) replace_one();
  for (auto& block : live) who.deallocate(block);
}

/// Memory of one stream is used on another and freed while it may still be in use there.
void across_streams(benchmark::State& state, const anyplace::Device& device, std::uint64_t bytes) {
  const anyplace::Stream owner(device);
  const anyplace::Stream user(device);
  for ([[maybe_unused]] auto _ : state) {
    const anyplace::Buffer buffer(owner, bytes);
    buffer.record_stream(user);
  }
  device.synchronize();
}

// -- The cases.

template <class Make>
void add_for(const std::string& who, const std::vector<int>& threads, Make make) {
  for (const std::uint64_t bytes : sizes) {
    const std::string name = "hit/" + std::to_string(bytes) + "/" + who;
    auto* const one = benchmark::RegisterBenchmark(
        name.c_str(), [make, bytes](benchmark::State& state) { hit(state, make(), bytes); });
    for (const int count : threads) one->Threads(count);
    one->UseRealTime();
  }
  for (const bool repeating : {true, false}) {
    for (const std::uint64_t largest : {std::uint64_t{1} << 20, std::uint64_t{64} << 20}) {
      const std::string name = std::string(repeating ? "churn/" : "miss/") + std::to_string(largest) + "/" + who;
      benchmark::RegisterBenchmark(name.c_str(), [make, repeating, largest](benchmark::State& state) {
        churn(state, make(), repeating, largest);
      })->UseRealTime();
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string place = bench::take_option(argc, argv, "place", "cpu_sim:0");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;

  const anyplace::Device device(place);
  const std::vector<int> threads{1, 2, 8};
  add_for("allocator", threads, [device] { return ThroughAllocator(device); });
  add_for("buffer", threads, [device] { return ThroughBuffer(device); });
  std::vector<std::string> absent;
  for (const bench::HostAllocator& host : bench::host_allocators(absent)) {
    add_for(host.name, threads, [host] { return ThroughHost(host); });
  }
  for (const std::string& line : absent) std::fprintf(stderr, "%s\n", line.c_str());
  for (const std::uint64_t bytes : sizes) {
    const std::string name = "across/" + std::to_string(bytes) + "/buffer";
    benchmark::RegisterBenchmark(name.c_str(), [device, bytes](benchmark::State& state) {
      across_streams(state, device, bytes);
    })->UseRealTime();
  }
  benchmark::AddCustomContext("place", device.to_string());
  benchmark::AddCustomContext("device", device.properties().name);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
