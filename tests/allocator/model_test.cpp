// SPDX-License-Identifier: Apache-2.0
// Random operations of several threads on several streams and in pools that come and go, against a reference that is a
// map: no two allocations that are live overlap, contents stay until they are given back, and the statistics agree with
// what the reference counted. Each case goes through four worlds, one after the other, of which a turn has one.
#include <anyplace/anyplace.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/errors.h"
#include "support/turn.h"

namespace model_test {

using anyplace::Allocator;
using anyplace::Buffer;
using anyplace::BufferView;
using anyplace::Device;
using anyplace::ErrorCode;
using anyplace::MemoryPool;
using anyplace::MemoryPoolGuard;
using anyplace::MemoryStats;
using anyplace::Stream;
using anyplace::StreamView;

namespace {

#ifdef ANYPLACE_MODEL_OPERATIONS
constexpr int operations = ANYPLACE_MODEL_OPERATIONS;
#else
constexpr int operations = 600'000;
#endif
constexpr int thread_count = 4;
constexpr int stream_count = 8;
constexpr int pool_count = 2;
constexpr std::uint64_t world_count = 4;
constexpr int batches = 15;  ///< of each world
constexpr int operations_a_batch = operations / (static_cast<int>(world_count) * thread_count * batches);

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

/// Sizes that come again, and sizes of every magnitude up to 8 MiB.
std::uint64_t random_size(Random& random) {
  static constexpr std::array<std::uint64_t, 8> favourites{1, 512, 777, 4096, 65536, 100000, 1 << 20, 3 << 20};
  if (random.below(3) != 0) return favourites[random.below(favourites.size())];
  return 1 + random.below(std::uint64_t{1} << (4 + random.below(20)));
}

/// What is live, by address. Entered after an allocation and taken out before it is given back, so that an overlap is
/// the allocator's fault.
class Reference {
 public:
  void enter(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto after = live_.upper_bound(address);
    const bool meets_after = after != live_.end() && address + bytes > after->first;
    const bool meets_before = after != live_.begin() && std::prev(after)->first + std::prev(after)->second > address;
    if (meets_after || meets_before || address % 256 != 0) ++faults_;
    live_.emplace(address, bytes);
    ++entered_;
    bytes_ += bytes;
  }
  void leave(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(address);
    bytes_ -= found->second;
    live_.erase(found);
  }
  int faults() const { return faults_; }
  std::int64_t count() const { return static_cast<std::int64_t>(live_.size()); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }
  std::int64_t entered() const { return entered_; }

 private:
  std::mutex mutex_;  // guards what is below while threads run
  std::map<std::uint64_t, std::uint64_t> live_;
  std::uint64_t bytes_ = 0;
  std::int64_t entered_ = 0;
  int faults_ = 0;
};

/// An allocation by address, or a Buffer with contents.
struct Held {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  StreamView stream;
  Buffer buffer;
  std::uint32_t tag = 0;
};

/// A check that is under way on some stream: the word that was copied out, and what it has to be.
struct Check {
  std::uint32_t seen = 0;
  std::uint32_t expected = 0;
};

struct World {
  explicit World(const char* place) : device(place), allocator(anyplace::caching_allocator(device)) {
    for (int i = 0; i < stream_count; ++i) streams.push_back(std::make_unique<Stream>(device));
    for (auto& pool : pools) pool = std::make_shared<MemoryPool>(device);
  }
  Device device;
  std::shared_ptr<Allocator> allocator;
  std::vector<std::unique_ptr<Stream>> streams;
  Reference reference;
  std::mutex pools_mutex;  // guards pools
  std::array<std::shared_ptr<MemoryPool>, pool_count>
      pools;                  ///< a pool ends when the last who allocates from it is done
  std::mutex mailbox_mutex;   // guards mailbox
  std::vector<Held> mailbox;  ///< allocations that one thread leaves to another
  std::atomic<std::uint32_t> next_tag{1};
  std::atomic<std::int64_t> refused{0};
};

class Worker {
 public:
  Worker(World& world, std::uint64_t seed) : world_(world), random_(seed) {}

  void run_batch() {
    for (int i = 0; i < operations_a_batch; ++i) step();
  }
  /// When everything is done on the device.
  int failed_checks() {
    int failed = 0;
    for (const auto& check : checks_) failed += check->seen != check->expected ? 1 : 0;
    checks_.clear();
    return failed;
  }
  void give_all() {
    while (!held_.empty()) give(held_.size() - 1);
  }

 private:
  const Stream& any_stream() { return *world_.streams[random_.below(world_.streams.size())]; }

  bool is_alive(const StreamView& stream) const {
    return std::any_of(world_.streams.begin(), world_.streams.end(),
                       [&](const auto& alive) { return alive->id() == stream.id(); });
  }

  void step() {
    const std::uint64_t kind = random_.below(1000);
    if (kind < 20) return swap_with_mailbox();
    if (kind < 22) return anyplace::empty_cache(world_.device);
    if (kind < 24) return static_cast<void>(anyplace::memory_stats(world_.device));
    if (kind < 28) return end_a_pool();
    const bool full = held_.size() >= 200;
    if (!full && (held_.empty() || random_.below(2) == 0)) {
      take();
    } else {
      give(random_.below(held_.size()));
    }
  }

  /// Others may be at it, and work of any stream may still use what is in it.
  void end_a_pool() {
    auto next = std::make_shared<MemoryPool>(world_.device);
    const std::lock_guard lock(world_.pools_mutex);
    world_.pools[random_.below(pool_count)].swap(next);
  }

  std::shared_ptr<MemoryPool> any_pool() {
    const std::lock_guard lock(world_.pools_mutex);
    return world_.pools[random_.below(pool_count)];
  }

  void take() {
    if (random_.below(8) != 0) return take_here();
    const std::shared_ptr<MemoryPool> pool = any_pool();
    const MemoryPoolGuard guard(*pool);
    take_here();
  }

  void take_here() {
    Held held;
    const Stream& stream = any_stream();
    held.stream = stream;
    held.bytes = random_size(random_);
    try {
      if (random_.below(16) == 0) {
        take_buffer(stream, held);
      } else {
        held.address = world_.allocator->allocate(stream, held.bytes);
      }
    } catch (const anyplace::Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
      ++world_.refused;
      while (held_.size() > 20) give(held_.size() - 1);
      return;
    }
    world_.reference.enter(held.address, held.bytes);
    held_.push_back(std::move(held));
  }

  /// With a word at each end that nobody else may touch while it lives.
  void take_buffer(const Stream& stream, Held& held) {
    held.bytes = (held.bytes + 3) / 4 * 4;
    held.buffer = Buffer(stream, held.bytes);
    held.address = held.buffer.address();
    held.tag = world_.next_tag++;
    stream.memset32(held.buffer.sub(0, 4), held.tag);
    stream.memset32(held.buffer.sub(held.bytes - 4), held.tag);
  }

  void look_at(const StreamView& stream, BufferView word, std::uint32_t expected) {
    checks_.push_back(std::make_unique<Check>());
    Check& check = *checks_.back();
    check.expected = expected;
    stream.copy(anyplace::HostSpan(&check.seen, 4), word);
  }

  void give(std::size_t index) {
    Held held = std::move(held_[index]);
    held_[index] = std::move(held_.back());
    held_.pop_back();
    world_.reference.leave(held.address);
    if (!held.buffer) return world_.allocator->deallocate(held.stream, held.address, held.bytes);
    if (!is_alive(held.stream)) {
      // It went when the device was idle: what it did with the buffer is done.
      const Stream& other = any_stream();
      look_at(other, held.buffer.sub(0, 4), held.tag);
      return held.buffer.record_stream(other);
    }
    look_at(held.stream, held.buffer.sub(0, 4), held.tag);
    if (random_.below(2) == 0) {
      // Another stream reads it too, and isn't done when the buffer goes.
      const Stream& other = any_stream();
      other.wait_stream(held.stream);
      look_at(other, held.buffer.sub(held.bytes - 4), held.tag);
      held.buffer.record_stream(other);
    }
  }

  void swap_with_mailbox() {
    const std::lock_guard lock(world_.mailbox_mutex);
    if (!held_.empty()) {
      world_.mailbox.push_back(std::move(held_.back()));
      held_.pop_back();
    }
    if (world_.mailbox.size() > 8) {
      held_.push_back(std::move(world_.mailbox.front()));
      world_.mailbox.erase(world_.mailbox.begin());
    }
  }

  World& world_;
  Random random_;
  std::vector<Held> held_;
  std::vector<std::unique_ptr<Check>> checks_;
};

std::int64_t at(const MemoryStats& stats, const std::string& key) { return stats.at(key); }

/// When the device is idle and no thread is at it.
void check_statistics(const World& world) {
  const MemoryStats stats = anyplace::memory_stats(world.device);
  CHECK(at(stats, "allocation.all.current") == world.reference.count());
  CHECK(at(stats, "active.all.current") == world.reference.count());
  CHECK(at(stats, "requested_bytes.all.current") == world.reference.bytes());
  CHECK(at(stats, "allocation.all.allocated") == world.reference.entered());
  for (const char* kind : {"allocation", "active", "allocated_bytes", "active_bytes", "requested_bytes", "segment",
                           "reserved_bytes", "inactive_split", "inactive_split_bytes"}) {
    INFO(kind);
    const std::string name = kind;
    for (const char* figure : {".current", ".allocated", ".freed"}) {
      CHECK(at(stats, name + ".all" + figure) ==
            at(stats, name + ".small_pool" + figure) + at(stats, name + ".large_pool" + figure));
    }
    CHECK(at(stats, name + ".all.current") == at(stats, name + ".all.allocated") - at(stats, name + ".all.freed"));
    CHECK(at(stats, name + ".all.peak") >= at(stats, name + ".all.current"));
  }
  CHECK(at(stats, "allocated_bytes.all.current") >= world.reference.bytes());
  CHECK(at(stats, "allocated_bytes.all.current") == at(stats, "active_bytes.all.current"));
  CHECK(at(stats, "reserved_bytes.all.current") >= at(stats, "active_bytes.all.current"));
}

/// The blocks tile their segments, and are what the statistics say.
void check_snapshot(const World& world) {
  const auto snapshot = nlohmann::json::parse(anyplace::memory_snapshot(world.device, anyplace::SnapshotFormat::json));
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  for (const auto& segment : snapshot.at("segments")) {
    std::uint64_t next = segment.at("address").get<std::uint64_t>();
    const std::uint64_t end = next + segment.at("total_size").get<std::uint64_t>();
    reserved += segment.at("total_size").get<std::int64_t>();
    for (const auto& block : segment.at("blocks")) {
      if (block.at("address").get<std::uint64_t>() != next) FAIL("a hole between blocks, or an overlap");
      next += block.at("size").get<std::uint64_t>();
      if (block.at("state") == "active_allocated") allocated += block.at("size").get<std::int64_t>();
    }
    CHECK(next == end);
  }
  const MemoryStats stats = anyplace::memory_stats(world.device);
  CHECK(at(stats, "allocated_bytes.all.current") == allocated);
  CHECK(at(stats, "reserved_bytes.all.current") == reserved);
}

using Workers = std::vector<std::unique_ptr<Worker>>;

/// The threads do a batch each, then what they left is looked at.
void run_batches(World& world, const Workers& workers) {
  std::barrier<> gate(thread_count + 1);
  std::atomic<int> exceptions{0};
  std::vector<std::thread> threads;
  for (const auto& worker : workers) {
    threads.emplace_back([&, own = worker.get()] {
      for (int batch = 0; batch < batches; ++batch) {
        try {
          own->run_batch();
        } catch (const std::exception&) {
          ++exceptions;
        }
        gate.arrive_and_wait();
        gate.arrive_and_wait();
      }
    });
  }
  for (int batch = 0; batch < batches; ++batch) {
    gate.arrive_and_wait();
    world.device.synchronize();
    INFO("batch " << batch);
    int failed = 0;
    for (const auto& worker : workers) failed += worker->failed_checks();
    CHECK(failed == 0);
    CHECK(world.reference.faults() == 0);
    check_statistics(world);
    if (batch % 5 == 0) check_snapshot(world);
    // A stream goes while memory of its is out, and another comes.
    if (batch % 3 == 0)
      world.streams[static_cast<std::size_t>(batch) % stream_count] = std::make_unique<Stream>(world.device);
    gate.arrive_and_wait();
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(exceptions == 0);
}

void run_world(std::uint64_t number) {
  World world("cpu_sim:0");
  // What an earlier world had is over; this one's reference counts from 0.
  anyplace::reset_accumulated_memory_stats(world.device);
  Workers workers;
  for (std::uint64_t i = 0; i < thread_count; ++i)
    workers.push_back(std::make_unique<Worker>(world, 1000 + 100 * number + i));
  run_batches(world, workers);
  for (const auto& worker : workers) worker->give_all();
  for (Held& held : world.mailbox) {
    world.reference.leave(held.address);
    if (!held.buffer) world.allocator->deallocate(held.stream, held.address, held.bytes);
  }
  world.mailbox.clear();
  world.device.synchronize();
  anyplace::empty_cache(world.device);
  check_statistics(world);
  const MemoryStats stats = anyplace::memory_stats(world.device);
  CHECK(at(stats, "reserved_bytes.all.current") == 0);
  CHECK(world.reference.count() == 0);
  INFO("refused: " << world.refused);
  CHECK(world.refused <= operations / static_cast<int>(world_count) / 10);
}

void run_model(const char* memory, const char* config) {
  REQUIRE(setenv("ANYPLACE_CPU_SIM_MEMORY", memory, 1) == 0);
  REQUIRE(setenv("ANYPLACE_ALLOCATOR", config, 1) == 0);
  const test::Turn turn = test::turn();
  std::cout << turn.text() << ": " << turn.part(world_count) << " of " << world_count << " worlds\n";
  for (std::uint64_t number = 0; number < world_count; ++number) {
    if (turn.takes(number)) run_world(number);
  }
}

}  // namespace

TEST_CASE("Random operations of four threads on eight streams and in pools agree with the reference") {
  run_model("4GiB", "");
}

TEST_CASE("Random operations agree with the reference where memory is short") { run_model("150MiB", ""); }

TEST_CASE("Random operations on classic segments agree with the reference") { run_model("4GiB", "segments:classic"); }

TEST_CASE("Random operations on classic segments agree with the reference where memory is short") {
  run_model("150MiB", "segments:classic");
}

TEST_CASE("With one thread the peaks are exact") {
  REQUIRE(setenv("ANYPLACE_CPU_SIM_MEMORY", "4GiB", 1) == 0);
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream other(device);
  const auto allocator = anyplace::caching_allocator(device);
  Random random(7);
  struct Out {
    std::uint64_t address;
    std::uint64_t bytes;
    const Stream* stream;
  };
  std::vector<Out> out;
  std::int64_t bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t peak_count = 0;
  std::int64_t peak_rounded = 0;
  std::int64_t rounded = 0;
  const auto round = [](std::uint64_t size) { return static_cast<std::int64_t>((size + 511) / 512 * 512); };
  for (int i = 0; i < 50000; ++i) {
    if (out.size() < 60 && (out.empty() || random.below(2) == 0)) {
      const std::uint64_t size = random_size(random);
      const Stream& of = random.below(2) == 0 ? stream : other;
      out.push_back({allocator->allocate(of, size), size, &of});
      bytes += static_cast<std::int64_t>(size);
      rounded += round(size);
    } else {
      const std::size_t index = random.below(out.size());
      allocator->deallocate(*out[index].stream, out[index].address, out[index].bytes);
      bytes -= static_cast<std::int64_t>(out[index].bytes);
      rounded -= round(out[index].bytes);
      out[index] = out.back();
      out.pop_back();
    }
    peak_bytes = std::max(peak_bytes, bytes);
    peak_rounded = std::max(peak_rounded, rounded);
    peak_count = std::max(peak_count, static_cast<std::int64_t>(out.size()));
    if (i % 997 != 0) continue;
    const MemoryStats stats = anyplace::memory_stats(device);
    REQUIRE(at(stats, "allocation.all.peak") == peak_count);
    REQUIRE(at(stats, "requested_bytes.all.peak") == peak_bytes);
    REQUIRE(at(stats, "allocated_bytes.all.peak") == peak_rounded);
    REQUIRE(at(stats, "allocated_bytes.all.current") == rounded);
    if (i % (997 * 5) == 0) {
      anyplace::reset_peak_memory_stats(device);
      peak_bytes = bytes;
      peak_rounded = rounded;
      peak_count = static_cast<std::int64_t>(out.size());
    }
  }
}

}  // namespace model_test
