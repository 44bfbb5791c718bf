// SPDX-License-Identifier: Apache-2.0
//
// ValidatedBackend: what the layer's entries share: the objects of the backend that it is over, and how an operation is
// checked and then submitted.
#pragma once

#include <anyplace/backend/kit/layer.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend_objects.h"
#include "engine.h"
#include "thread.h"

namespace anyplace::validate {

using Table = anyplace_backend_table;

/// A failure's text has three lines: what is wrong, what would be right, where to look.
[[noreturn]] inline void refuse(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ';');
  throw backend::Failure(ANYPLACE_STATUS_INVALID_ARGUMENT,
                         "validate: " + message +
                             "\nthe call was not made; mend the order, or use ANYPLACE_VALIDATE=log\nsee "
                             "docs/layers.md");
}

class ValidatedBackend : public backend::Layer {
 public:
  ValidatedBackend(backend::Host host, const anyplace_backend_table& below) : Layer(host, below) {}

 protected:
  Device& device_of(std::int32_t index) {
    {
      const std::lock_guard lock(engine_.mutex);
      const auto found = devices_.find(index);
      if (found != devices_.end()) return *found->second;
    }
    anyplace_device_properties properties{};
    properties.struct_size = sizeof(properties);
    const bool known = pass_on<&Table::device_properties>(index, &properties) == ANYPLACE_STATUS_OK;
    const std::lock_guard lock(engine_.mutex);
    Device& device = engine_.device(this, next().name, index);
    const std::uint32_t unified = ANYPLACE_FEATURE_UNIFIED_ADDRESSING;
    const bool shares_addresses = known && (properties.features & properties.features_known & unified) != 0;
    if (!shares_addresses && device.space == 0) device.space = ++spaces_made;
    constexpr std::uint64_t pins = ANYPLACE_FOR(PINNED_MEMORY) | ANYPLACE_FOR(HOST_REGISTER);
    device.reads_pageable_in_order = known && (properties.capabilities & pins) == 0;
    const std::uint32_t virtual_time = ANYPLACE_FEATURE_VIRTUAL_TIME;
    device.is_in_virtual_time = known && (properties.features & properties.features_known & virtual_time) != 0;
    devices_[index] = &device;
    return device;
  }

  /// Called under the engine's mutex.
  void give_up(Space space, anyplace_address address) {
    const auto known = objects_.bytes.find(address);
    if (known == objects_.bytes.end()) return;
    engine_.give_up(space, {address, address + known->second});
    objects_.bytes.erase(known);
  }

  void host_saw(const Clock& clock) {
    if (this_thread().core_calls != 0) return;
    const std::lock_guard lock(engine_.mutex);
    engine_.host_saw(clock);
  }
  Clock clock_of_stream(anyplace_stream handle) {
    const std::lock_guard lock(engine_.mutex);
    const StreamPointer stream = objects_.stream(handle);
    return stream == nullptr ? Clock() : stream->clock;
  }
  Clock clock_of_event(anyplace_event event) {
    const std::lock_guard lock(engine_.mutex);
    return clock_of(event);
  }
  /// That of the event's most recent record. Of one by another process it isn't known what came before; it may be
  /// whatever that process could wait for. Another library's may be on any stream whose vendor's handle it could have.
  /// The caller holds the engine's mutex, as of the next.
  Clock clock_of(anyplace_event handle) const {
    const std::shared_ptr<Event> event = objects_.event(handle);
    if (event == nullptr) return {};
    if (event->is_recorded) return event->clock;
    if (event->is_shared) return engine_.shared();
    Clock clock;
    if (!event->is_foreign) return clock;
    for (const auto& [native, stream] : objects_.natives) {
      if (stream != nullptr) clock.join(stream->clock);
    }
    return clock;
  }
  void note_record(anyplace_event handle, const Stream& stream) {
    const std::shared_ptr<Event> event = objects_.event(handle);
    if (event == nullptr) return;
    event->is_recorded = true;
    event->clock = stream.clock;
    if (event->is_interprocess) engine_.record_shared(stream.clock);
  }

  anyplace_status add_stream(std::int32_t index, const anyplace_stream_desc& desc, const anyplace_stream* made,
                             bool is_default, anyplace_status status) {
    if (status != ANYPLACE_STATUS_OK) return status;
    Device& device = device_of(index);
    const Sites::Frames frames = engine_.sites.capture();
    const std::lock_guard lock(engine_.mutex);
    const StreamPointer stream = engine_.make_stream(device, desc.cookie, desc.flags, is_default);
    if (!is_default && this_thread().core_calls == 0)
      stream->made = engine_.operation("make a stream", nullptr, frames);
    objects_.streams[*made] = stream;
    return status;
  }
  anyplace_status add_event(std::int32_t index, std::uint32_t flags, bool is_shared, const anyplace_event* made,
                            anyplace_status status) {
    if (status != ANYPLACE_STATUS_OK) return status;
    const auto event = std::make_shared<Event>();
    event->device = &device_of(index);
    event->is_interprocess = (flags & ANYPLACE_EVENT_INTERPROCESS) != 0;
    event->is_shared = is_shared;
    const bool is_own = this_thread().core_calls != 0;
    const Sites::Frames frames = is_own ? Sites::Frames() : engine_.sites.capture();
    const std::lock_guard lock(engine_.mutex);
    if (!is_own) event->made = engine_.operation("make an event", nullptr, frames);
    objects_.events[*made] = event;
    return status;
  }

  std::string_view name_of(const char* name) const { return name; }
  std::string_view name_of(anyplace_kernel kernel) const { return objects_.kernel_name(kernel); }

  /// Checks an operation of the stream, submits it, and forgets it if that fails. `add` appends its accesses.
  template <class Name, class Add, class Pass>
  anyplace_status submit(anyplace_stream handle, Name name, Add&& add, Pass&& pass) {
    const Sites::Frames frames = engine_.sites.capture();
    std::vector<Touch> touches;
    StreamPointer stream;
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(engine_.mutex);
      engine_.forget_operations_if_many();
      stream = objects_.stream(handle);
      if (stream != nullptr) {
        engine_.begin(*stream);
        number = stream->number;
        add(*stream->device, touches);
        const std::uint32_t operation = engine_.operation(name_of(name), stream.get(), frames);
        const std::string text = engine_.publish(engine_.check(touches, stream.get(), operation));
        if (!text.empty()) refuse(text);
        engine_.remember(touches, stream.get(), operation);
      }
    }
    const anyplace_status status = pass();
    if (status != ANYPLACE_STATUS_OK && stream != nullptr) {
      const std::lock_guard lock(engine_.mutex);
      engine_.undo(touches, *stream, number, number);
    }
    return status;
  }

  Engine& engine_ = Engine::only();
  BackendObjects objects_;  // guarded by the engine's mutex, as the two below
  std::unordered_map<std::int32_t, Device*> devices_;
  static inline Space spaces_made = 0;
};

}  // namespace anyplace::validate
