// SPDX-License-Identifier: Apache-2.0
//
// For ThreadSanitizer. `sanitized clean` uses what an application uses, and has no race of its own; each of the others
// has one:
//   host        the host reads what a callable writes before it has synchronised
//   streams     callables of two streams that nothing orders write the same
//   function    the host changes what a host function was given
//   blocks      two blocks of a kernel write the same
//   copy        the host writes to the source of a copy that is under way
// What must be at the same time for a race to be one is made to be: the sanitizer keeps what happened, and nobody has
// to be fast.
#include <anyplace/anyplace.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "sanitized_kernels.h"

using namespace anyplace;

namespace {

void must(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(3);
}

void wait_for(const StreamView& stream, int way) {
  if (way == 0) {
    stream.synchronize();
  } else if (way == 1) {
    while (!stream.query()) std::this_thread::yield();
  } else if (way == 2) {
    stream.record_event().synchronize();
  } else if (way == 3) {
    const Event event = stream.record_event();
    while (!event.query()) std::this_thread::yield();
  } else {
    while (!stream.synchronize(std::chrono::seconds(10))) {
    }
  }
}

/// Host memory, buffers, callables, host functions, events and two streams, in one order; the closures are large enough
/// to be allocated.
void use_streams(const Device& device) {
  const Stream first(device), second(device);
  std::vector<float> in(1000), out(1000);
  double factor = 1;
  std::size_t calls = 0;
  for (int round = 0; round < 100; ++round) {
    factor = 1 + round % 3;
    std::iota(in.begin(), in.end(), static_cast<float>(round));
    const Buffer data(round % 2 == 0 ? first : second, in.size() * sizeof(float));
    const Kernel scale(device, [&factor](const Block& block, float* numbers) {
      block.for_each_thread([&](const Thread& t) { numbers[t.global[0]] *= static_cast<float>(factor); });
    });
    if (round % 2 != 0) first.wait_stream(second);
    first.copy(data, in);
    first.launch(scale, {4, 250}, data);
    const std::string text(100, 'x');
    first.launch_host_func([&calls, text] { calls += text.size(); });
    second.wait_event(first.record_event());
    second.launch_host_func([&calls] { ++calls; });
    second.copy(out, data);
    wait_for(second, round % 5);
    must(calls == static_cast<std::size_t>(round + 1) * 101, "the host functions' sum");
    must(out[1] == static_cast<float>(factor) * static_cast<float>(round + 1), "the scaled numbers");
    factor = 0;
    data.record_stream(second);
    data.record_stream(first);
  }
}

/// Kernels of a module whose threads wait for each other, with blocks on several threads. Twice: ThreadSanitizer takes
/// seconds for the 4096 threads of a launch.
void use_kernels(const Device& device) {
  const Stream stream(device);
  const Module module(device, sanitized_kernels);
  std::vector<unsigned> numbers(64 * 64), turned(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  const Buffer data(stream, numbers.size() * sizeof(unsigned));
  for (int round = 0; round < 2; ++round) {
    stream.copy(data, numbers);
    stream.launch(module.kernel("turn"), {64, 64, 64 * sizeof(unsigned)}, data);
    stream.copy(turned, data);
    wait_for(stream, round);
    must(turned[0] == 63 && turned[64] == 127, "the turned numbers");
  }
}

/// Threads that make and end handles, share a stream and hand buffers on.
void use_threads(const Device& device) {
  const Stream shared(device);
  std::vector<std::thread> threads;
  std::atomic<int> written{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&device, &shared, &written, t] {
      const Stream own(device);
      for (int i = 0; i < 30; ++i) {
        auto value = std::make_unique<int>(0);
        int* const seen = value.get();
        const Buffer buffer(i % 2 == 0 ? own.view() : shared.view(), 1000 + 4096 * static_cast<std::uint64_t>(t));
        own.memset8(buffer, static_cast<std::uint8_t>(i));
        std::vector<std::uint8_t> back(buffer.size_bytes());
        own.copy(back, buffer);
        {
          const Kernel kernel(device, [seen](const Block&) { ++*seen; });
          own.launch(kernel, {1, 1});
        }
        shared.launch_host_func([&written] { ++written; });
        buffer.record_stream(own);
        wait_for(own, i % 5);
        must(back.back() == i && *value == 1, "what a thread's own stream did");
        static_cast<void>(device.properties());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  shared.synchronize();
  must(written == 120, "the shared stream's host functions");
}

// -- Races.

int shared_number = 0;

void race_with_host(const Device& device) {
  const Stream stream(device);
  std::atomic<bool> ran{false};
  const Kernel kernel(device, [&ran](const Block&) {
    shared_number = 1;
    ran.store(true, std::memory_order_relaxed);
  });
  stream.launch(kernel, {1, 1});
  while (!ran.load(std::memory_order_relaxed)) std::this_thread::yield();
  std::printf("%d\n", shared_number);
  stream.synchronize();
}

void race_of_streams(const Device& device) {
  const Stream first(device), second(device);
  // Both have begun before either writes, so they are on two threads; and one writes after the other: of two writes at
  // the same moment the sanitizer may see neither.
  std::atomic<int> begun{0};
  std::atomic<bool> wrote{false};
  const auto both_begin = [&begun] {
    begun.fetch_add(1, std::memory_order_relaxed);
    while (begun.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
  };
  const Kernel writes(device, [&both_begin, &wrote](const Block&) {
    both_begin();
    ++shared_number;
    wrote.store(true, std::memory_order_relaxed);
  });
  const Kernel writes_after(device, [&both_begin, &wrote](const Block&) {
    both_begin();
    while (!wrote.load(std::memory_order_relaxed)) std::this_thread::yield();
    ++shared_number;
  });
  first.launch(writes, {1, 1});
  second.launch(writes_after, {1, 1});
  first.synchronize();
  second.synchronize();
}

void race_with_function(const Device& device) {
  const Stream stream(device);
  std::atomic<bool> ran{false};
  stream.launch_host_func([&ran] {
    ++shared_number;
    ran.store(true, std::memory_order_relaxed);
  });
  while (!ran.load(std::memory_order_relaxed)) std::this_thread::yield();
  ++shared_number;
  stream.synchronize();
}

void race_of_blocks(const Device& device) {
  const Stream stream(device);
  const Module module(device, sanitized_kernels);
  const Buffer data(stream, 17 * sizeof(unsigned));
  for (int round = 0; round < 20; ++round) {
    stream.memset8(data, 0);
    stream.launch(module.kernel("trample"), {1'000, 1}, data);
  }
  stream.synchronize();
}

void race_with_copy(const Device& device) {
  const Stream stream(device);
  const HostBuffer source(device, 1 << 16);
  const Buffer data(stream, source.size());
  std::atomic<bool> go{false};
  stream.launch_host_func([&go] {
    while (!go.load(std::memory_order_relaxed)) std::this_thread::yield();
  });
  stream.copy(data, source);
  go.store(true, std::memory_order_relaxed);
  std::atomic<bool> copied{false};
  stream.launch_host_func([&copied] { copied.store(true, std::memory_order_relaxed); });
  while (!copied.load(std::memory_order_relaxed)) std::this_thread::yield();
  source.data()[5] = std::byte{1};
  stream.synchronize();
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc == 2 ? argv[1] : "";
  const Device device("cpu_sim:0");
  if (what == "clean") {
    use_streams(device);
    use_kernels(device);
    use_threads(device);
  } else if (what == "host") {
    race_with_host(device);
  } else if (what == "streams") {
    race_of_streams(device);
  } else if (what == "function") {
    race_with_function(device);
  } else if (what == "blocks") {
    race_of_blocks(device);
  } else if (what == "copy") {
    race_with_copy(device);
  } else {
    return 2;
  }
  std::printf("through %s\n", device.to_string().c_str());
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
