// SPDX-License-Identifier: Apache-2.0
#include "generator.h"

#include <algorithm>
#include <array>

#include "scenarios.h"

namespace stress {
namespace {

constexpr std::uint64_t kBytesOfDevice = std::uint64_t{24} << 20;
constexpr std::size_t kMostStreams = 12, kMostStreamsEver = 48, kMostBuffers = 40, kMostHosts = 24;

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
  static constexpr const char* kAllocators[] = {"segments:classic",
                                                "bins:false",
                                                "cross_stream_reuse:false",
                                                "segments:classic,bins:false",
                                                "segments:classic,max_split_size_mb:1",
                                                "caching:false",
                                                "history:true"};
  if (random_.chance(50))
    round.settings.emplace_back("ANYPLACE_ALLOCATOR", kAllocators[random_.below(std::size(kAllocators))]);
  if (random_.chance(25)) round.settings.emplace_back("STRESS_TRACKING", "1");
  round.settings.emplace_back("ANYPLACE_CPU_SIM_WORKERS", std::to_string(1 + random_.below(4)));
  if (random_.chance(20)) round.settings.emplace_back("ANYPLACE_CPU_SIM_DOZE", "0");
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

template <class Things>
Number Generator::any_of(const Things& things, std::optional<Number> device) {
  std::vector<Number> all;
  for (const auto& [id, thing] : things) {
    if (thing.there && (!device || thing.device == *device)) all.push_back(id);
  }
  return all.empty() ? -1 : random_.pick(all);
}

Number Generator::any_device() {
  return static_cast<Number>(random_.below(static_cast<std::uint64_t>(round_.devices())));
}

Number Generator::any_size() {
  static constexpr std::array<Number, 11> kSizes{4,      256,     512,     777,     4096,         10'000,
                                                 65'536, 100'000, 1 << 18, 1 << 20, (2 << 20) + 4};
  if (random_.chance(60)) return random_.pick(kSizes);
  return 1 + static_cast<Number>(random_.below(std::uint64_t{1} << (4 + random_.below(17))));
}

std::pair<Number, Number> Generator::any_range(Number size, Number most, Number unit) {
  if (size <= most && size % unit == 0 && random_.chance(50)) return {0, size};
  const Number units = std::max<Number>(std::min(size, most) / unit, 1);
  const Number bytes = unit * (1 + static_cast<Number>(random_.below(static_cast<std::uint64_t>(units))));
  if (bytes > size) return {0, size};
  return {unit * static_cast<Number>(random_.below(static_cast<std::uint64_t>((size - bytes) / unit + 1))), bytes};
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
  if (there >= kMostStreams || next_stream_ - round_.first_made_stream() >= Number{kMostStreamsEver})
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
  if (there >= kMostBuffers || model_.live_bytes(device) + static_cast<std::uint64_t>(bytes) > kBytesOfDevice)
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
  const Number bytes = static_cast<Number>(model_.buffers().at(buffer).bytes.size());
  const Number host = any_host(thread);
  if (host >= 0 && static_cast<Number>(model_.hosts().at(host).bytes.size()) >= bytes && random_.chance(70)) {
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
  if (there >= kMostHosts) return any_host(thread);
  const Number device = any_device(), host = next_host_++;
  const Traits& has = model_.traits(device);
  Number option = kind ? *kind : static_cast<Number>(random_.below(3));
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

// -- Steps.

void Generator::submit_something(std::uint32_t thread) {
  const Number stream = any_stream(thread, {});
  const Number device = model_.streams().at(stream).device;
  const Number buffer = any_buffer(thread, device, true, true);
  if (buffer < 0) {
    const Number made = make_buffer(thread, stream, any_size(), -1, on_stream);
    if (made >= 0) give_values(thread, made, stream);
    return;
  }
  const Number size = static_cast<Number>(model_.buffers().at(buffer).bytes.size());
  switch (random_.below(7)) {
    case 0: {
      const Number width = Number{1} << random_.below(3);
      const auto [offset, bytes] = any_range(size, 1 << 20, width);
      propose({.kind = Kind::fill,
               .thread = thread,
               .stream = stream,
               .buffer = buffer,
               .offset = offset,
               .bytes = bytes,
               .value = any_value(),
               .option = width});
      return;
    }
    case 1:
      return submit_host_copy(thread, stream, buffer, true);
    case 2:
      return submit_host_copy(thread, stream, buffer, false);
    case 3: {
      const Number from = any_buffer(thread, {}, true, true);
      if (from < 0 || from == buffer) return;
      const Number other = static_cast<Number>(model_.buffers().at(from).bytes.size());
      const auto [offset, bytes] = any_range(std::min(size, other), 1 << 20, 1);
      propose({.kind = Kind::copy,
               .thread = thread,
               .stream = stream,
               .buffer = buffer,
               .from = from,
               .offset = any_range_offset(size, bytes),
               .from_offset = any_range_offset(other, bytes),
               .bytes = bytes});
      return;
    }
    case 4:
      return submit_rows(thread, stream, buffer);
    default:
      return submit_kernel(thread, stream, buffer);
  }
}

Number Generator::any_range_offset(Number size, Number bytes) {
  return size <= bytes ? 0 : static_cast<Number>(random_.below(static_cast<std::uint64_t>(size - bytes + 1)));
}

void Generator::submit_host_copy(std::uint32_t thread, Number stream, Number buffer, bool up) {
  const Number host = some_host(thread);
  if (host < 0) return;
  const Number size = static_cast<Number>(model_.buffers().at(buffer).bytes.size());
  const Number other = static_cast<Number>(model_.hosts().at(host).bytes.size());
  const Number bytes = any_range(std::min(size, other), 1 << 20, 1).second;
  const Number of_buffer = any_range_offset(size, bytes), of_host = any_range_offset(other, bytes);
  if (up) {
    if (random_.chance(40))
      propose({.kind = Kind::write_host,
               .thread = thread,
               .host = host,
               .offset = of_host,
               .bytes = bytes,
               .value = any_value()});
    propose({.kind = Kind::upload,
             .thread = thread,
             .stream = stream,
             .buffer = buffer,
             .host = host,
             .offset = of_buffer,
             .from_offset = of_host,
             .bytes = bytes});
    return;
  }
  if (!propose({.kind = Kind::download,
                .thread = thread,
                .stream = stream,
                .from = buffer,
                .host = host,
                .offset = of_host,
                .from_offset = of_buffer,
                .bytes = bytes})) {
    return;
  }
  if (random_.chance(60))
    propose({.kind = Kind::check_host, .thread = thread, .host = host, .offset = of_host, .bytes = bytes});
}

void Generator::submit_rows(std::uint32_t thread, Number stream, Number buffer) {
  const Number size = static_cast<Number>(model_.buffers().at(buffer).bytes.size());
  const std::uint64_t kind = random_.below(3);
  const Number host = kind == 2 ? -1 : some_host(thread), from = kind == 2 ? any_buffer(thread, {}, true, true) : -1;
  if ((kind == 2 && (from < 0 || from == buffer)) || (kind != 2 && host < 0)) return;
  const Number other =
      static_cast<Number>(kind == 2 ? model_.buffers().at(from).bytes.size() : model_.hosts().at(host).bytes.size());
  const Number width = 1 + static_cast<Number>(random_.below(300)), rows = 1 + static_cast<Number>(random_.below(40));
  const Number pitch = width + static_cast<Number>(random_.below(100)),
               from_pitch = width + static_cast<Number>(random_.below(100));
  const Number of_buffer = kind == 1 ? from_pitch : pitch, of_other = kind == 1 ? pitch : from_pitch;
  if (of_buffer * (rows - 1) + width > size || of_other * (rows - 1) + width > other) return;
  Operation operation{.kind = kind == 0   ? Kind::upload_2d
                              : kind == 1 ? Kind::download_2d
                                          : Kind::copy_2d,
                      .thread = thread,
                      .stream = stream};
  operation.bytes = width;
  operation.rows = rows;
  operation.pitch = pitch;
  operation.from_pitch = from_pitch;
  (kind == 1 ? operation.from : operation.buffer) = buffer;
  if (kind == 2) operation.from = from;
  if (kind != 2) operation.host = host;
  propose(operation);
}

void Generator::submit_kernel(std::uint32_t thread, Number stream, Number buffer) {
  const Number device = model_.streams().at(stream).device;
  const Traits& has = model_.traits(device);
  const Number from = any_buffer(thread, device, true, true);
  if (from < 0 || from == buffer) return;
  const Number option = has.host_kernels && (!has.modules || random_.chance(30)) ? callable : of_module;
  Number module = -1;
  if (option == of_module) {
    if (!has.modules) return;
    module = any_of(model_.modules(), device);
    if (module < 0 || random_.chance(5)) {
      module = next_module_++;
      take({.kind = Kind::make_module, .thread = thread, .device = device, .module = module});
    }
  }
  const Number size = static_cast<Number>(model_.buffers().at(buffer).bytes.size());
  const Number other = static_cast<Number>(model_.buffers().at(from).bytes.size());
  if (std::min(size, other) < 4) return;
  const auto [offset, bytes] = any_range(std::min(size, other) / 4 * 4, 1 << 16, 4);
  const Number times =
      random_.chance(30) ? 1 + static_cast<Number>(random_.below(std::uint64_t(2'000'000 / (bytes / 4 + 1000)))) : 1;
  propose({.kind = Kind::mix,
           .thread = thread,
           .stream = stream,
           .buffer = buffer,
           .from = from,
           .module = module,
           .offset = offset,
           .bytes = bytes,
           .rows = times,
           .value = any_value(),
           .option = option});
}

void Generator::call_something(std::uint32_t thread) {
  const Number stream = any_stream(thread, {});
  if (!model_.traits(model_.streams().at(stream).device).host_functions) return;
  const Number host = some_host(thread);
  const auto [offset, bytes] = any_range(static_cast<Number>(model_.hosts().at(host).bytes.size()), 1 << 16, 1);
  switch (random_.below(8)) {
    case 0:
    case 1:
      propose({.kind = Kind::call_write,
               .thread = thread,
               .stream = stream,
               .host = host,
               .offset = offset,
               .bytes = bytes,
               .value = any_value()});
      return;
    case 2:
    case 3:
      propose({.kind = Kind::call_check,
               .thread = thread,
               .stream = stream,
               .host = host,
               .offset = offset,
               .bytes = bytes});
      return;
    case 4: {
      const Number event = any_of(model_.events(), {});
      if (event >= 0) propose({.kind = Kind::end_event_in_call, .thread = thread, .stream = stream, .event = event});
      return;
    }
    case 5: {
      const Number buffer = any_buffer(thread, {}, false, true);
      if (buffer >= 0)
        propose({.kind = Kind::end_buffer_in_call, .thread = thread, .stream = stream, .buffer = buffer});
      return;
    }
    case 6:
      if (random_.chance(40)) {
        propose(
            {.kind = Kind::end_stream_in_call, .thread = thread, .stream = stream, .other = any_stream(thread, {})});
      } else if (propose({.kind = Kind::call_throw, .thread = thread, .stream = stream})) {
        if (random_.chance(50)) submit_something(thread);
        propose({.kind = Kind::sync_stream, .thread = thread, .stream = stream});
      }
      return;
    default:
      propose({.kind = Kind::call_delay,
               .thread = thread,
               .stream = stream,
               .value = static_cast<Number>(random_.below(1500))});
      return;
  }
}

void Generator::wait_something(std::uint32_t thread) {
  const Number stream = any_stream(thread, {}), other = any_stream(thread, {});
  const Number event = any_of(model_.events(), {});
  const Number option = random_.chance(20) ? Number{with_time_limit} : 0,
               time = static_cast<Number>(random_.below(300));
  switch (random_.below(12)) {
    case 0:
      take({.kind = Kind::wait_stream, .thread = thread, .stream = stream, .other = other});
      return;
    case 1:
      take({.kind = Kind::sync_stream, .thread = thread, .stream = stream, .option = option});
      if (random_.chance(40)) take({.kind = Kind::query_stream, .thread = thread, .stream = stream});
      return;
    case 2:
      take({.kind = Kind::try_stream, .thread = thread, .stream = stream, .value = time});
      return;
    case 3:
      take({.kind = Kind::query_stream, .thread = thread, .stream = stream});
      return;
    case 4:
      take({.kind = random_.chance(30) ? Kind::try_device : Kind::sync_device,
            .thread = thread,
            .device = any_device(),
            .value = time});
      return;
    case 5: {
      const Number device = any_device();
      take({.kind = Kind::make_event,
            .thread = thread,
            .event = next_event_++,
            .device = device,
            .option = event_option(device)});
      return;
    }
    default:
      break;
  }
  if (event < 0) return;
  switch (random_.below(8)) {
    case 0:
    case 1:
      take({.kind = Kind::record,
            .thread = thread,
            .stream = any_stream(thread, model_.events().at(event).device),
            .event = event});
      return;
    case 2:
      take({.kind = Kind::wait_event, .thread = thread, .stream = stream, .event = event});
      return;
    case 3:
      take({.kind = Kind::sync_event, .thread = thread, .event = event, .option = option});
      return;
    case 4:
      take({.kind = Kind::try_event, .thread = thread, .event = event, .value = time});
      return;
    case 5:
      take({.kind = Kind::query_event, .thread = thread, .event = event});
      return;
    case 6:
      propose({.kind = Kind::elapsed, .thread = thread, .other = any_of(model_.events(), {}), .event = event});
      return;
    default:
      take({.kind = Kind::end_event, .thread = thread, .event = event});
      return;
  }
}

void Generator::change_objects(std::uint32_t thread) {
  const Number device = any_device(), stream = any_stream(thread, {});
  switch (random_.below(12)) {
    case 0:
    case 1:
      make_stream(thread, {});
      return;
    case 2:
      take({.kind = Kind::end_stream, .thread = thread, .stream = stream});
      return;
    case 3:
    case 4:
    case 5: {
      const Number on = model_.streams().at(stream).device, pool = random_.chance(40) ? any_of(model_.pools(), on) : -1;
      const Number option = random_.chance(20)                                            ? on_current
                            : pool < 0 && random_.chance(10) && model_.traits(on).managed ? managed
                            : pool >= 0 && random_.chance(20)                             ? ends_pool
                                                                                          : on_stream;
      const Number buffer = make_buffer(thread, stream, any_size(), pool, option);
      if (buffer >= 0) give_values(thread, buffer, stream);
      return;
    }
    case 6:
    case 7: {
      const Number buffer = any_buffer(thread, {}, false, true);
      if (buffer >= 0) propose({.kind = Kind::end_buffer, .thread = thread, .buffer = buffer});
      return;
    }
    case 8:
      make_host(thread, {}, {});
      return;
    case 9: {
      const Number host = any_host(thread);
      if (host >= 0) propose({.kind = Kind::end_host, .thread = thread, .host = host});
      return;
    }
    case 10: {
      const Number module = any_of(model_.modules(), {});
      if (module >= 0) take({.kind = Kind::end_module, .thread = thread, .module = module});
      return;
    }
    default: {
      const Number buffer = any_buffer(thread, device, true, true);
      if (buffer >= 0 && model_.buffers().at(buffer).managed) {
        const auto [offset, bytes] =
            any_range(static_cast<Number>(model_.buffers().at(buffer).bytes.size()), 1 << 16, 1);
        propose({.kind = random_.chance(50) ? Kind::write_managed : Kind::check_managed,
                 .thread = thread,
                 .buffer = buffer,
                 .offset = offset,
                 .bytes = bytes,
                 .value = any_value()});
      }
      return;
    }
  }
}

void Generator::manage_memory(std::uint32_t thread) {
  const Number device = any_device(), pool = any_of(model_.pools(), {});
  switch (random_.below(9)) {
    case 0:
      take({.kind = Kind::empty_cache, .thread = thread, .device = device});
      return;
    case 1:
    case 2:
      take({.kind = Kind::make_pool, .thread = thread, .pool = next_pool_++, .device = device});
      return;
    case 3:
    case 4:
      if (pool >= 0) take({.kind = Kind::end_pool, .thread = thread, .pool = pool});
      return;
    case 5:
      if (pool >= 0) take({.kind = Kind::release_pool, .thread = thread, .pool = pool});
      return;
    case 6:
      take({.kind = Kind::read_books, .thread = thread, .device = device});
      return;
    case 7:
      if (random_.chance(30)) {
        take({.kind = Kind::out_of_memory,
              .thread = thread,
              .stream = any_stream(thread, device),
              .bytes =
                  static_cast<Number>(model_.traits(device).memory) + 1 + static_cast<Number>(random_.below(1 << 20))});
      } else {
        take({.kind = Kind::peer_access,
              .thread = thread,
              .other = any_device(),
              .device = device,
              .option = random_.chance(70) ? Number{enable} : 0});
      }
      return;
    default:
      return use_dead(thread);
  }
}

void Generator::use_dead(std::uint32_t thread) {
  const auto dead = [&](const auto& things) {
    std::vector<Number> all;
    for (const auto& [id, thing] : things) {
      if (!thing.there && !thing.lives_on) all.push_back(id);
    }
    return all.empty() ? Number{-1} : random_.pick(all);
  };
  const Number stream = any_stream(thread, {});
  switch (random_.below(3)) {
    case 0:
      take({.kind = Kind::stale_stream, .thread = thread, .other = dead(model_.streams())});
      return;
    case 1:
      take({.kind = Kind::stale_event, .thread = thread, .stream = stream, .event = dead(model_.events())});
      return;
    default:
      take({.kind = Kind::stale_buffer, .thread = thread, .stream = stream, .buffer = dead(model_.buffers())});
      return;
  }
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
