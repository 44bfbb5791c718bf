// SPDX-License-Identifier: Apache-2.0
//
// Current devices and streams, and the guards. The memory is freed when the thread ends, after the destructors of its
// thread_local objects: these may still ask what is current, and set it.
#include "devices/current.h"

#include <pthread.h>

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "anyplace/guard.h"
#include "devices/resolve.h"
#include "devices/subsystem.h"
#include "plugins/registry.h"
#include "runtime/call.h"
#include "runtime/layer_notes.h"
#include "streams/stream_state.h"

namespace anyplace {
namespace detail {
namespace {

/// One thread uses few backends and devices, so a list is as good as a map.
struct ThreadState {
  struct OfBackend {
    const Backend* backend;
    DeviceState* device;
  };
  struct OfDevice {
    const DeviceState* device;
    std::uint64_t current_stream;     ///< 0: the null stream
    std::uint64_t per_thread_stream;  ///< 0: not made yet
  };
  std::vector<OfBackend> backends;
  std::vector<OfDevice> devices;

  OfBackend* find(const Backend& backend) noexcept {
    for (OfBackend& entry : backends) {
      if (entry.backend == &backend) return &entry;
    }
    return nullptr;
  }
  OfDevice* find(const DeviceState& device) noexcept {
    for (OfDevice& entry : devices) {
      if (entry.device == &device) return &entry;
    }
    return nullptr;
  }
};

constinit thread_local ThreadState* thread_state = nullptr;

void end_thread(void* state) noexcept {
  thread_state = nullptr;
  const std::unique_ptr<ThreadState> owned(static_cast<ThreadState*>(state));
  for (const ThreadState::OfDevice& entry : owned->devices) retire_stream(entry.per_thread_stream);
}

ThreadState& state_of_thread() {
  if (thread_state != nullptr) return *thread_state;
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, end_thread) != 0) throw std::bad_alloc();
    return made;
  }();
  auto made = std::make_unique<ThreadState>();
  if (pthread_setspecific(key, made.get()) != 0) throw std::bad_alloc();
  thread_state = made.release();
  return *thread_state;
}

ThreadState::OfDevice& entry_of(const DeviceState& device) {
  ThreadState& state = state_of_thread();
  if (ThreadState::OfDevice* const entry = state.find(device)) return *entry;
  return state.devices.emplace_back(ThreadState::OfDevice{&device, 0, 0});
}

}  // namespace

DeviceState& current_device_of(Backend& backend) noexcept {
  if (thread_state != nullptr) {
    if (const ThreadState::OfBackend* const entry = thread_state->find(backend)) return *entry->device;
  }
  return *backend.devices.front();
}

void set_current_device_of(DeviceState& device) {
  ThreadState& state = state_of_thread();
  if (ThreadState::OfBackend* const entry = state.find(*device.backend)) {
    entry->device = &device;
  } else {
    state.backends.push_back({device.backend, &device});
  }
}

std::uint64_t current_stream_of(DeviceState& device) noexcept {
  if (thread_state == nullptr) return 0;
  const ThreadState::OfDevice* const entry = thread_state->find(device);
  return entry == nullptr ? 0 : entry->current_stream;
}

namespace {

std::string note_on_missing(std::uint64_t id) {
  if (thread_state == nullptr) return "";
  for (const ThreadState::OfDevice& entry : thread_state->devices) {
    if (entry.current_stream != id) continue;
    return "; it is still the current stream of this thread on " + entry.device->place +
           ": set_current_stream makes another one current, and a StreamGuard that ends before its stream does so by "
           "itself";
  }
  return "";
}

}  // namespace

constinit const Subsystem devices_subsystem{.note_on_missing = note_on_missing};

void set_current_stream_of(DeviceState& device, std::uint64_t stream_id) {
  entry_of(device).current_stream = stream_id;
}

std::uint64_t per_thread_stream_of(DeviceState& device, const char* operation) {
  ThreadState::OfDevice& entry = entry_of(device);
  // The stream was not made yet, or a reset of the device ended it.
  if (!streams().try_pin(entry.per_thread_stream)) {
    const CoreCalls scope;
    entry.per_thread_stream = make_stream(device, 0, true, operation);
  }
  return entry.per_thread_stream;
}

}  // namespace detail

// ---- The public functions ------------------------------------------------------------------------------------------

Device current_device(std::string_view backend) {
  constexpr const char* operation = "current_device";
  detail::enter(operation);
  const std::string wanted(backend);
  const detail::Backend& found = detail::backend_of(wanted, operation);
  // resolve() throws the error for a backend without devices.
  return Device(&detail::resolve(Place(found.name), operation));
}

void set_current_device(const Device& device) {
  detail::enter("set_current_device");
  detail::set_current_device_of(*device.state());
}

StreamView current_stream(const Device& device) {
  constexpr const char* operation = "current_stream";
  detail::enter(operation);
  const std::uint64_t id = detail::current_stream_of(*device.state());
  return StreamView(id != 0 ? id : detail::default_stream_of(*device.state(), operation));
}

void set_current_stream(StreamView stream) {
  constexpr const char* operation = "set_current_stream";
  detail::enter(operation);
  const detail::Pin<detail::StreamState> pinned = detail::streams().pin(stream.id(), operation);
  detail::set_current_stream_of(*pinned->device, stream.id());
}

// ---- Guards --------------------------------------------------------------------------------------------------------

DeviceGuard::DeviceGuard(const std::optional<Device>& device) {
  detail::enter("DeviceGuard");
  if (!device) return;
  previous_.emplace(&detail::current_device_of(*device->state()->backend));
  detail::set_current_device_of(*device->state());
}
DeviceGuard::~DeviceGuard() {
  if (previous_) detail::set_current_device_of(*previous_->state());
}

namespace {

std::optional<Device> device_of(const std::optional<StreamView>& stream) {
  return stream ? std::optional<Device>(stream->device()) : std::nullopt;
}

}  // namespace

StreamGuard::StreamGuard(const std::optional<StreamView>& stream)
    : device_guard_(device_of(stream)), device_(device_of(stream)) {
  if (!stream) return;
  previous_ = StreamView(detail::current_stream_of(*device_->state()));
  set_current_stream(*stream);
}
StreamGuard::~StreamGuard() {
  if (device_) detail::set_current_stream_of(*device_->state(), previous_.id());
}

}  // namespace anyplace
