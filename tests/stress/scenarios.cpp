// SPDX-License-Identifier: Apache-2.0
#include "scenarios.h"

namespace stress {

/// For some time, so that what isn't waited for shows.
void Generator::keep_busy(std::uint32_t thread, Number stream) {
  if (model_.traits(model_.streams().at(stream).device).host_functions) {
    take({.kind = Kind::call_delay, .thread = thread, .stream = stream, .value = 200 + below(3000)});
  }
}

/// A pool that ends with its buffers freed and their stream busy, and others who ask for memory then.
void Generator::end_pool_of_busy_stream() {
  const auto thread = static_cast<std::uint32_t>(random_.below(round_.threads));
  const Number device = any_device(), stream = any_stream(thread, device), pool = next_pool_++;
  const Number bytes = random_.chance(50) ? any_size() / 4 * 4 + 4 : 1 << 20;
  take({.kind = Kind::make_pool, .thread = thread, .pool = pool, .device = device});
  const Number kept = make_buffer(thread, stream, bytes, -1, on_stream);
  const Number inside = make_buffer(thread, stream, bytes, pool, on_stream);
  if (kept < 0 || inside < 0) return;
  give_values(thread, kept, stream);
  keep_busy(thread, stream);
  give_values(thread, inside, stream);
  propose({.kind = Kind::copy, .thread = thread, .stream = stream, .buffer = kept, .from = inside, .bytes = bytes});
  propose({.kind = Kind::end_buffer, .thread = thread, .buffer = inside});
  take({.kind = Kind::end_pool, .thread = thread, .pool = pool});
  if (random_.chance(30)) take({.kind = Kind::empty_cache, .thread = thread, .device = device});
  const auto other_thread = static_cast<std::uint32_t>(random_.below(round_.threads));
  for (int i = 0; i < 3; ++i) {
    const Number other = make_stream(other_thread, device);
    const Number next = make_buffer(other_thread, other, bytes, -1, on_stream);
    if (next < 0) break;
    propose({.kind = Kind::fill,
             .thread = other_thread,
             .stream = other,
             .buffer = next,
             .bytes = bytes,
             .value = any_value(),
             .option = 1});
  }
  const Number host = make_host(thread, {}, bytes);
  if (size_of_host(host) < bytes) return;
  propose({.kind = Kind::download, .thread = thread, .stream = stream, .from = kept, .host = host, .bytes = bytes});
  propose({.kind = Kind::check_host, .thread = thread, .host = host, .bytes = bytes});
}

/// Every thread copies its own pageable memory to and from its own buffers, all on one null stream.
void Generator::copy_on_shared_stream() {
  const Number device = any_device(), stream = random_.chance(75) ? device : any_stream(0, device);
  if (stream >= round_.devices() && stream < round_.first_made_stream()) return;  // a thread's own
  const Number bytes = any_size();
  std::vector<std::pair<Number, Number>> pairs;  // a buffer and a host array of each thread
  for (std::uint32_t thread = 0; thread < round_.threads; ++thread) {
    const Number buffer = make_buffer(thread, stream, bytes, -1, on_stream), host = make_host(thread, pageable, bytes);
    if (buffer < 0 || size_of_host(host) < bytes) return;
    pairs.emplace_back(buffer, host);
  }
  const auto times = 1 + random_.below(6);
  for (std::uint64_t time = 0; time < times; ++time) {
    for (std::uint32_t thread = 0; thread < round_.threads; ++thread) {
      const auto [buffer, host] = pairs[thread];
      propose({.kind = Kind::write_host, .thread = thread, .host = host, .bytes = bytes, .value = any_value()});
      propose(
          {.kind = Kind::upload, .thread = thread, .stream = stream, .buffer = buffer, .host = host, .bytes = bytes});
      if (random_.chance(50))
        propose({.kind = Kind::write_host, .thread = thread, .host = host, .bytes = bytes, .value = any_value()});
      propose(
          {.kind = Kind::download, .thread = thread, .stream = stream, .from = buffer, .host = host, .bytes = bytes});
      propose({.kind = Kind::check_host, .thread = thread, .host = host, .bytes = bytes});
    }
  }
}

/// A buffer that another stream uses, named or waited for, freed while both are busy; then others ask for memory.
void Generator::free_while_used() {
  const auto thread = static_cast<std::uint32_t>(random_.below(round_.threads));
  const Number device = any_device(), stream = any_stream(thread, device), other = any_stream(thread, {});
  const Number bytes = any_size(), other_device = model_.streams().at(other).device;
  const Number freed = make_buffer(thread, stream, bytes, -1, on_stream);
  const Number kept = make_buffer(thread, other, bytes, -1, on_stream);
  if (freed < 0 || kept < 0) return;
  give_values(thread, freed, stream);
  keep_busy(thread, other);
  propose({.kind = Kind::copy, .thread = thread, .stream = other, .buffer = kept, .from = freed, .bytes = bytes});
  propose({.kind = Kind::end_buffer, .thread = thread, .buffer = freed});
  if (random_.chance(20)) take({.kind = Kind::end_stream, .thread = thread, .stream = stream});
  if (random_.chance(20)) take({.kind = Kind::empty_cache, .thread = thread, .device = device});
  for (int i = 0; i < 3; ++i) {
    const Number next_stream = any_stream(thread, device);
    const Number next = make_buffer(thread, next_stream, bytes, -1, on_stream);
    if (next < 0) break;
    propose({.kind = Kind::fill,
             .thread = thread,
             .stream = next_stream,
             .buffer = next,
             .bytes = bytes,
             .value = any_value(),
             .option = 1});
  }
  const Number host = make_host(thread, {}, bytes);
  if (size_of_host(host) < bytes) return;
  propose({.kind = Kind::download,
           .thread = thread,
           .stream = any_stream(thread, other_device),
           .from = kept,
           .host = host,
           .bytes = bytes});
  propose({.kind = Kind::check_host, .thread = thread, .host = host, .bytes = bytes});
}

void Generator::play_scenario() {
  switch (random_.below(3)) {
    case 0:
      return end_pool_of_busy_stream();
    case 1:
      return copy_on_shared_stream();
    default:
      return free_while_used();
  }
}

}  // namespace stress
