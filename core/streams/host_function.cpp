// SPDX-License-Identifier: Apache-2.0
//
// Host functions: the user's code on a backend's thread. Invariant: the closure is destroyed exactly once, whether it
// ran or not. Running and destroying it are marked as a callback, so that calls of the library are refused there and
// the end of a handle is queued.
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "anyplace/stream.h"
#include "handles/use.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "runtime/layer_notes.h"
#include "runtime/shortage.h"
#include "streams/stream_state.h"
#include "streams/work.h"

namespace anyplace {
namespace detail {
namespace {

constexpr const char* operation = "Stream::launch_host_func";

struct Closure {
  std::function<void()> function;
  std::uint64_t stream_id = 0;
  DeviceState* device = nullptr;
};

void fault_of(std::uint64_t stream_id, const DeviceState& device, const char* text) noexcept {
  record_fault(stream_id, error_or_shortage([&] {
                 ErrorDetails details;
                 details.code = ErrorCode::host_function_failed;
                 details.place = device.place;
                 details.operation = operation;
                 details.text = text;
                 return Error(std::move(details));
               }));
}

/// The function that the backend calls, once.
void run_closure(void* user, anyplace_status status) noexcept {
  const CallbackScope scope;
  const std::unique_ptr<Closure> closure(static_cast<Closure*>(user));
  if (status == ANYPLACE_STATUS_OK) run_host_function(closure->function, closure->stream_id, *closure->device);
}

/// Makes the shared function of a Work. It is destroyed as inside a callback, whichever thread does that.
std::shared_ptr<const std::function<void()>> share_function(std::function<void()> function) {
  return {new std::function<void()>(std::move(function)), [](std::function<void()>* shared) {
            const CallbackScope scope;
            delete shared;
          }};
}

anyplace_status submit_closure(DeviceState& device, anyplace_stream stream, std::unique_ptr<Closure>& closure) {
  const anyplace_status status = device.table->stream_host_function(device.self, stream, run_closure, closure.get());
  if (status == ANYPLACE_STATUS_OK) static_cast<void>(closure.release());  // the backend owns it now
  return status;
}

/// Submits a function of the core's own, which layers are told of.
anyplace_status submit_own(DeviceState& device, anyplace_stream stream, std::unique_ptr<Closure>& closure,
                           const HostDeed& deed) {
  void* const user = closure.get();
  note_host_function(user, deed.get());
  const anyplace_status status = submit_closure(device, stream, closure);
  if (status != ANYPLACE_STATUS_OK) note_host_function(user, nullptr);
  return status;
}

constexpr anyplace_copy_2d nothing{};

}  // namespace

void run_host_function(const std::function<void()>& function, std::uint64_t stream_id,
                       const DeviceState& device) noexcept {
  const CallbackScope scope;
  try {
    function();
  } catch (const std::exception& exception) {
    fault_of(stream_id, device, exception.what());
  } catch (...) {
    fault_of(stream_id, device, "the host function threw something that is no std::exception");
  }
}

anyplace_status submit_host_work(const HostWork& work, const StreamState& stream) {
  auto closure =
      std::make_unique<Closure>(Closure{[function = work.function] { (*function)(); }, stream.id, stream.device});
  if (work.deed) return submit_own(*stream.device, stream.handle, closure, work.deed);
  return submit_closure(*stream.device, stream.handle, closure);
}

HostDeed no_deed() noexcept { return {HostDeed(), &nothing}; }

void launch_host_function(StreamState& stream, std::function<void()> function, HostDeed deed, const char* caller) {
  DeviceState& device = *stream.device;
  auto closure = std::make_unique<Closure>(Closure{std::move(function), stream.id, &device});
  submit(
      stream, caller, [&] { return submit_own(device, stream.handle, closure, deed); },
      [&] {
        return HostWork{share_function(std::move(closure->function)), deed};
      });
}

}  // namespace detail

void StreamView::launch_host_func(std::function<void()> function) const {
  using namespace detail;
  // The closure is destroyed after the guard, because the function's own destructor may make other calls.
  std::unique_ptr<Closure> closure;
  use<StreamState>(operation, id_, [&](const auto& guard) {
    StreamState& stream = guard.first();
    DeviceState& device = *stream.device;
    if (guard.careful) require_usable(device, operation);
    require_capability(device, Capability::host_functions, operation);
    if (!function) [[unlikely]] {
      fail(ErrorCode::invalid_argument, device.place, operation, "the function is empty: there is nothing to call");
    }
    // The closure is made in place, because make_unique would move the function once more.
    closure.reset(new Closure{std::move(function), stream.id, &device});
    submit_with(
        guard, operation, [&] { return submit_closure(device, stream.handle, closure); },
        [&] {
          return HostWork{share_function(std::move(closure->function)), nullptr};
        });
  });
}

}  // namespace anyplace
