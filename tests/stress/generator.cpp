// SPDX-License-Identifier: Apache-2.0
#include "generator.h"

#include <algorithm>
#include <array>

#include "scenarios.h"

namespace stress {
namespace {

constexpr std::uint64_t bytes_of_device = std::uint64_t{24} << 20;
constexpr std::size_t most_streams = 12, most_streams_ever = 48, most_buffers = 40, most_hosts = 24;

}  // namespace

Generator::Generator(std::uint64_t seed, const std::vector<std::string>& places, const std::vector<Traits>& traits,
                     const Taste& taste)
    : random_(seed),
      round_(make_header(seed, places, traits, taste)),
      model_(round_, traits),
      without_(taste.without),
      next_stream_(round_.first_made_stream()) {
  operations_ = 40 + random_.below(std::max<std::size_t>(taste.most_operations, 41) - 40);
}

Round Generator::make_header(std::uint64_t seed, const std::vector<std::string>& places,
                             const std::vector<Traits>& traits, const Taste& taste) {
  Round round;
  round.seed = seed;
  round.places = places;
  round.threads = 1 + static_cast<std::uint32_t>(random_.below(taste.most_threads));
  round.ending = static_cast<Ending>(random_.chance(15) ? 2 : random_.below(2));
  static constexpr const char* allocators[] = {"segments:classic",
                                               "bins:false",
                                               "cross_stream_reuse:false",
                                               "segments:classic,bins:false",
                                               "segments:classic,max_split_size_mb:1",
                                               "caching:false",
                                               "history:true"};
  if (random_.chance(50))
    round.settings.emplace_back("ANYPLACE_ALLOCATOR", allocators[random_.below(std::size(allocators))]);
  if (random_.chance(25)) round.settings.emplace_back("STRESS_TRACKING", "1");
  round.settings.emplace_back("ANYPLACE_CPU_SIM_WORKERS", std::to_string(1 + random_.below(4)));
  if (random_.chance(20)) round.settings.emplace_back("ANYPLACE_CPU_SIM_IDLE_BACKOFF", "0");
  std::set<std::string> backends;
  for (const Traits& has : traits) backends.insert(has.backend);
  for (const std::string& backend : backends) {
    const std::string prefix = backend == "cuda"        ? "CUDA_DOUBLE"
                               : backend == "hip"       ? "HIP_DOUBLE"
                               : backend == "levelzero" ? "LEVELZERO_DOUBLE"
                                                        : "";
    if (prefix.empty()) continue;
    round.settings.emplace_back(prefix + "_SEED", std::to_string(random_.chance(30) ? 0 : random_.below(1'000'000)));
    round.settings.emplace_back(prefix + "_WORKERS", std::to_string(1 + random_.below(3)));
    if (backend != "levelzero" && random_.chance(30)) round.settings.emplace_back(prefix + "_PAGEABLE_ASYNC", "1");
  }
  return round;
}

// -- Choices.

Number Generator::any_stream(std::uint32_t thread, std::optional<Number> device) {
  std::vector<Number> all;
  for (const auto& [id, stream] : model_.streams()) {
    if (!stream.there || (stream.owner >= 0 && stream.owner != static_cast<int>(thread))) continue;
    if (stream.faulted_by >= 0 && stream.faulted_by != static_cast<int>(thread)) continue;
    if (device && stream.device != *device) continue;
    all.push_back(id);
    // Null streams are shared by all threads, which is where their submissions meet.
    if (id < round_.devices() && likes_shared_) all.insert(all.end(), 3, id);
  }
  return random_.pick(all);
}

Number Generator::any_buffer(std::uint32_t thread, std::optional<Number> device, bool whole, bool near) {
  std::vector<Number> all;
  for (const auto& [id, buffer] : model_.buffers()) {
    if (!buffer.there || (whole && !buffer.whole) || (device && buffer.device != *device)) continue;
    all.push_back(id);
    if (near && home_[id] == thread) all.insert(all.end(), 6, id);
  }
  return all.empty() ? -1 : random_.pick(all);
}

Number Generator::any_host(std::uint32_t thread) {
  std::vector<Number> all;
  for (const auto& [id, host] : model_.hosts()) {
    if (!host.there) continue;
    all.push_back(id);
    if (host_home_[id] == thread) all.insert(all.end(), 8, id);
  }
  return all.empty() ? -1 : random_.pick(all);
}

Number Generator::any_device() { return below(round_.devices()); }

Number Generator::any_size() {
  static constexpr std::array<Number, 11> sizes{4,      256,     512,     777,     4096,         10'000,
                                                65'536, 100'000, 1 << 18, 1 << 20, (2 << 20) + 4};
  if (random_.chance(60)) return random_.pick(sizes);
  return 1 + static_cast<Number>(random_.below(std::uint64_t{1} << (4 + random_.below(17))));
}

std::pair<Number, Number> Generator::any_range(Number size, Number most, Number unit) {
  if (size <= most && size % unit == 0 && random_.chance(50)) return {0, size};
  const Number units = std::max<Number>(std::min(size, most) / unit, 1);
  const Number bytes = unit * (1 + below(units));
  if (bytes > size) return {0, size};
  return {unit * below((size - bytes) / unit + 1), bytes};
}

// -- Admission.

bool Generator::is_left_out(const Operation& operation) const {
  const bool ends = operation.kind == Kind::make_buffer && operation.option == ends_pool;
  return without_.count(operation.kind) != 0 || (ends && without_.count(Kind::end_pool) != 0);
}

bool Generator::take(const Operation& operation) {
  if (is_left_out(operation)) return false;
  Step step;
  if (model_.apply(operation, step)) return false;
  round_.operations.push_back(operation);
  return true;
}

bool Generator::usable(std::uint32_t thread, Number stream) const {
  const auto found = model_.streams().find(stream);
  return found != model_.streams().end() && found->second.there && found->second.faulted_by < 0 &&
         (found->second.owner < 0 || found->second.owner == static_cast<int>(thread));
}

/// Gives an order to what has none.
void Generator::order(const Operation& operation, const Refusal& refusal) {
  const std::uint32_t thread = operation.thread;
  const Number other = refusal.work.stream;
  if (refusal.work.thread != thread) take({.kind = Kind::follow, .thread = thread, .other = refusal.work.thread});
  const Number device = model_.streams().at(other).device;
  const bool frees = operation.kind == Kind::end_buffer || operation.kind == Kind::end_buffer_in_call;
  const Number option = random_.chance(20) ? Number{with_time_limit} : 0;
  if (!usable(thread, other) || random_.chance(5)) {
    take({.kind = Kind::sync_device, .thread = thread, .device = device, .option = option});
    return;
  }
  if (frees && random_.chance(70)) {
    take({.kind = Kind::record_stream, .thread = thread, .stream = other, .buffer = operation.buffer});
    return;
  }
  const Number stream = frees ? model_.buffers().at(operation.buffer).stream : operation.stream;
  const bool between = !refusal.on_host && usable(thread, stream) && stream != other;
  if (between && random_.chance(50)) {
    take({.kind = Kind::wait_stream, .thread = thread, .stream = stream, .other = other});
  } else if (random_.chance(40)) {
    const Number event = next_event_++;
    take({.kind = Kind::record_new, .thread = thread, .stream = other, .event = event, .option = event_option(device)});
    if (between) {
      take({.kind = Kind::wait_event, .thread = thread, .stream = stream, .event = event});
    } else {
      take({.kind = Kind::sync_event, .thread = thread, .event = event, .option = option});
    }
    if (random_.chance(60)) take({.kind = Kind::end_event, .thread = thread, .event = event});
  } else {
    take({.kind = Kind::sync_stream, .thread = thread, .stream = other, .option = option});
  }
}

Number Generator::event_option(Number device) {
  if (random_.chance(30) && model_.traits(device).timed_events) return timed;
  return random_.chance(20) ? Number{blocking_sync} : 0;
}

bool Generator::propose(const Operation& operation) {
  if (is_left_out(operation)) return false;
  for (int tries = 0; tries < 8; ++tries) {
    Step step;
    const Refusal refusal = model_.apply(operation, step);
    if (!refusal) {
      round_.operations.push_back(operation);
      return true;
    }
    if (refusal.why == Refusal::Why::senseless) return false;
    order(operation, refusal);
  }
  return false;
}

// -- Objects.

Number Generator::make_stream(std::uint32_t thread, std::optional<Number> on) {
  std::size_t there = 0;
  for (const auto& [id, stream] : model_.streams()) there += stream.there && id >= round_.first_made_stream() ? 1U : 0U;
  if (there >= most_streams || next_stream_ - round_.first_made_stream() >= Number{most_streams_ever})
    return any_stream(thread, on);
  const Number device = on ? *on : any_device(), stream = next_stream_++;
  const Traits& has = model_.traits(device);
  const int range = has.least_priority - has.greatest_priority;
  const Number priority =
      random_.chance(60)
          ? 0
          : has.greatest_priority + static_cast<Number>(random_.below(static_cast<std::uint64_t>(range) + 1));
  take({.kind = Kind::make_stream,
        .thread = thread,
        .stream = stream,
        .device = device,
        .value = priority,
        .option = has.blocking_streams && random_.chance(30) ? Number{blocking} : 0});
  return stream;
}

Number Generator::make_buffer(std::uint32_t thread, Number stream, Number bytes, Number pool, Number option) {
  const Number device = model_.streams().at(stream).device;
  std::size_t there = 0;
  for (const auto& [id, buffer] : model_.buffers()) there += buffer.there ? 1U : 0U;
  if (there >= most_buffers || model_.live_bytes(device) + static_cast<std::uint64_t>(bytes) > bytes_of_device)
    return -1;
  const Number buffer = next_buffer_++;
  home_[buffer] = thread;
  if (!propose({.kind = Kind::make_buffer,
                .thread = thread,
                .stream = stream,
                .buffer = buffer,
                .pool = pool,
                .bytes = bytes,
                .option = option})) {
    return -1;
  }
  return buffer;
}

/// With a value in every byte.
void Generator::give_values(std::uint32_t thread, Number buffer, Number stream) {
  const Number bytes = size_of_buffer(buffer);
  const Number host = any_host(thread);
  if (host >= 0 && size_of_host(host) >= bytes && random_.chance(70)) {
    if (random_.chance(60))
      propose({.kind = Kind::write_host, .thread = thread, .host = host, .bytes = bytes, .value = any_value()});
    propose({.kind = Kind::upload, .thread = thread, .stream = stream, .buffer = buffer, .host = host, .bytes = bytes});
  } else {
    propose({.kind = Kind::fill,
             .thread = thread,
             .stream = stream,
             .buffer = buffer,
             .bytes = bytes,
             .value = any_value(),
             .option = 1});
  }
}

Number Generator::make_host(std::uint32_t thread, std::optional<Number> kind, std::optional<Number> bytes) {
  std::size_t there = 0;
  for (const auto& [id, host] : model_.hosts()) there += host.there ? 1U : 0U;
  if (there >= most_hosts) return any_host(thread);
  const Number device = any_device(), host = next_host_++;
  const Traits& has = model_.traits(device);
  Number option = kind ? *kind : below(3);
  if ((option == pinned && !has.pinned) || (option == registered && !has.host_register)) option = pageable;
  host_home_[host] = thread;
  take({.kind = Kind::make_host,
        .thread = thread,
        .host = host,
        .device = device,
        .bytes = bytes ? *bytes : any_size(),
        .option = option});
  return host;
}

/// A host array of its own, or one that is there.
Number Generator::some_host(std::uint32_t thread) {
  const Number host = any_host(thread);
  return host < 0 || random_.chance(20) ? make_host(thread, {}, {}) : host;
}

// -- The whole.

Round Generator::make() {
  std::array<std::uint64_t, 6> weights{};
  for (std::uint64_t& weight : weights) {
    weight = random_.below(3);
    weight = 1 + weight * random_.below(5);
  }
  weights[0] += 4;
  likes_shared_ = random_.chance(40);
  for (std::uint32_t thread = 0; thread < round_.threads; ++thread) {
    for (Number device = 0; device < round_.devices(); ++device) {
      const Number stream = random_.chance(70) ? make_stream(thread, device) : any_stream(thread, device);
      const Number buffer = make_buffer(thread, stream, any_size(), -1, on_stream);
      if (buffer >= 0) give_values(thread, buffer, stream);
    }
    make_host(thread, {}, {});
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t weight : weights) sum += weight;
  while (round_.operations.size() < operations_) {
    const auto thread = static_cast<std::uint32_t>(random_.below(round_.threads));
    std::uint64_t at = random_.below(sum);
    std::size_t what = 0;
    while (at >= weights[what]) at -= weights[what++];
    switch (what) {
      case 0:
        submit_something(thread);
        break;
      case 1:
        call_something(thread);
        break;
      case 2:
        wait_something(thread);
        break;
      case 3:
        change_objects(thread);
        break;
      case 4:
        manage_memory(thread);
        break;
      default:
        if (random_.chance(25))
          play_scenario();
        else
          submit_something(thread);
        break;
    }
  }
  if (random_.chance(85)) check_everything();
  return std::move(round_);
}

/// Of every buffer that is there, by whoever made it.
void Generator::check_everything() {
  std::vector<Number> all;
  for (const auto& [id, buffer] : model_.buffers()) {
    if (buffer.there && buffer.whole) all.push_back(id);
  }
  for (const Number id : all) {
    const std::uint32_t thread = home_[id];
    const Model::Buffer& buffer = model_.buffers().at(id);
    const Number bytes = static_cast<Number>(buffer.bytes.size());
    const Number host = next_host_++;
    take({.kind = Kind::make_host, .thread = thread, .host = host, .bytes = bytes, .option = pageable});
    propose({.kind = Kind::download,
             .thread = thread,
             .stream = any_stream(thread, buffer.device),
             .from = id,
             .host = host,
             .bytes = bytes});
    propose({.kind = Kind::check_host, .thread = thread, .host = host, .bytes = bytes});
    propose({.kind = Kind::end_host, .thread = thread, .host = host});
  }
}

Round make_round(std::uint64_t seed, const std::vector<std::string>& places, const std::vector<Traits>& traits,
                 const Taste& taste) {
  return Generator(seed, places, traits, taste).make();
}

}  // namespace stress
