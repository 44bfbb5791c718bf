// SPDX-License-Identifier: Apache-2.0
//
// Single steps at random: each submits, waits for or changes one thing.
#include <algorithm>

#include "scenarios.h"

namespace stress {

void Generator::submit_something(std::uint32_t thread) {
  const Number stream = any_stream(thread, {});
  const Number device = model_.streams().at(stream).device;
  const Number buffer = any_buffer(thread, device, true, true);
  if (buffer < 0) {
    const Number made = make_buffer(thread, stream, any_size(), -1, on_stream);
    if (made >= 0) give_values(thread, made, stream);
    return;
  }
  const Number size = size_of_buffer(buffer);
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
      const Number other = size_of_buffer(from);
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

Number Generator::any_range_offset(Number size, Number bytes) { return size <= bytes ? 0 : below(size - bytes + 1); }

void Generator::submit_host_copy(std::uint32_t thread, Number stream, Number buffer, bool up) {
  const Number host = some_host(thread);
  if (host < 0) return;
  const Number size = size_of_buffer(buffer);
  const Number other = size_of_host(host);
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
  const Number size = size_of_buffer(buffer);
  const std::uint64_t kind = random_.below(3);
  const Number host = kind == 2 ? -1 : some_host(thread), from = kind == 2 ? any_buffer(thread, {}, true, true) : -1;
  if ((kind == 2 && (from < 0 || from == buffer)) || (kind != 2 && host < 0)) return;
  const Number other =
      static_cast<Number>(kind == 2 ? model_.buffers().at(from).bytes.size() : model_.hosts().at(host).bytes.size());
  const Number width = 1 + below(300), rows = 1 + below(40);
  const Number pitch = width + below(100), from_pitch = width + below(100);
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
  const Number size = size_of_buffer(buffer);
  const Number other = size_of_buffer(from);
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
  const auto [offset, bytes] = any_range(size_of_host(host), 1 << 16, 1);
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
      propose({.kind = Kind::call_delay, .thread = thread, .stream = stream, .value = below(1500)});
      return;
  }
}

void Generator::wait_something(std::uint32_t thread) {
  const Number stream = any_stream(thread, {}), other = any_stream(thread, {});
  const Number event = any_of(model_.events(), {});
  const Number option = random_.chance(20) ? Number{with_time_limit} : 0, time = below(300);
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
        const auto [offset, bytes] = any_range(size_of_buffer(buffer), 1 << 16, 1);
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

}  // namespace stress
