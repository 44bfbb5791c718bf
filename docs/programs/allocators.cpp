// SPDX-License-Identifier: Apache-2.0
// What docs/memory.md prints: a limit, a pool, an adaptor, memory given up under pressure, and what the statistics say.
#include <anyplace/anyplace.h>

#include <cstdio>
#include <optional>

int main() {
  constexpr std::uint64_t mib = 1 << 20;
  const anyplace::Device device("cpu_sim:0");
  anyplace::configure_allocator(device, {.limit_bytes = 64 * mib});  // before its first use
  const anyplace::Stream stream(device);

  // The buffers of this scope share their memory with no others, and are 16 MiB at most.
  {
    const anyplace::MemoryPool pool(device, {.limit_bytes = 16 * mib});
    const anyplace::MemoryPoolGuard guard(pool);
    const anyplace::Buffer weights(stream, 10 * mib);
    std::printf("the pool has %llu MiB in use\n", static_cast<unsigned long long>(pool.allocated_bytes() / mib));
  }

  // Something that can be made again gives up its memory when it is needed elsewhere.
  std::optional<anyplace::Buffer> cached_result(std::in_place, stream, 40 * mib);
  const anyplace::PressureRegistration registration(device, [&](const anyplace::Device&, std::uint64_t) {
    const bool freed = cached_result.has_value();
    cached_result.reset();
    return freed;
  });
  const anyplace::Buffer large(stream, 50 * mib);
  std::printf("the cached result is %s\n", cached_result ? "still there" : "gone");

  // Every allocation from here on is tracked.
  const auto tracking = std::make_shared<anyplace::TrackingAllocator>(anyplace::current_allocator(device));
  anyplace::set_allocator(device, tracking);
  const anyplace::Buffer forgotten(stream, 1000);
  std::printf("%s", tracking->report().c_str());
  anyplace::set_allocator(device, nullptr);

  const std::uint64_t most = anyplace::max_memory_allocated(device);
  std::printf("at most %llu MiB were in use\n", static_cast<unsigned long long>(most / mib));
  return cached_result ? 1 : 0;
}
