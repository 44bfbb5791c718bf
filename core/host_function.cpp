// SPDX-License-Identifier: Apache-2.0
//
// Host functions: the user's code on a backend's thread. Invariant: the closure is destroyed exactly once, whether it
// ran or not, and both happen marked as a callback, so that a call back is refused and a handle's end is queued.
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "anyplace/stream.h"
#include "call.h"
#include "shortage.h"
#include "stream_state.h"

namespace anyplace {
namespace detail {
namespace {

constexpr const char* operation = "Stream::launch_host_func";

struct Closure {
  std::function<void()> function;
  std::uint64_t stream_id = 0;
  DeviceState* device = nullptr;
};

void fault_of(const Closure& closure, const char* text) noexcept {
  record_fault(closure.stream_id, error_or_shortage([&] {
                 ErrorDetails details;
                 details.code = ErrorCode::host_function_failed;
                 details.place = closure.device->place;
                 details.operation = operation;
                 details.text = text;
                 return Error(std::move(details));
               }));
}

/// What the backend calls, once.
void run_closure(void* user, anyplace_status status) noexcept {
  const CallbackScope scope;
  const std::unique_ptr<Closure> closure(static_cast<Closure*>(user));
  if (status != ANYPLACE_STATUS_OK) return;
  try {
    closure->function();
  } catch (const std::exception& exception) {
    fault_of(*closure, exception.what());
  } catch (...) {
    fault_of(*closure, "the host function threw something that is no std::exception");
  }
}

anyplace_status submit_closure(DeviceState& device, anyplace_stream stream, std::unique_ptr<Closure>& closure) {
  const anyplace_status status = device.table->stream_host_function(device.self, stream, run_closure, closure.get());
  if (status == ANYPLACE_STATUS_OK) static_cast<void>(closure.release());  // the backend's now
  return status;
}

/// The device's properties were asked for, and they say so.
bool surely_has_host_functions(const DeviceState& device) noexcept {
  return device.properties_known.load(std::memory_order_acquire) &&
         (device.properties.capabilities >> ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS & 1) != 0;
}

/// The short way (borrow.h). False if it isn't for this one; the closure is the caller's then.
bool launch_quickly(std::uint64_t stream_id, std::unique_ptr<Closure>& closure) {
  CallRecord* const record = call_state.record;
  if (record == nullptr || !closure->function) return false;
  const Borrow borrow(*record, stream_id);
  const Slot& stream = streams().borrow(stream_id);
  if (!stream.is(stream_id) || !surely_has_host_functions(*stream.device)) return false;
  closure->device = stream.device;
  const anyplace_status status = submit_closure(*stream.device, stream.handle, closure);
  if (status != ANYPLACE_STATUS_OK) [[unlikely]]
    raise_borrowed<StreamState>(status, *record, operation);
  return true;
}

[[gnu::noinline]] void launch_long_way(std::uint64_t stream_id, std::unique_ptr<Closure> closure) {
  enter_long_way(operation);
  const Pin<StreamState> stream = streams().pin(stream_id, operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  require_capability(device, Capability::host_functions, operation);
  if (!closure->function) {
    fail(ErrorCode::invalid_argument, device.place, operation, "the function is empty: there is nothing to call");
  }
  closure->device = &device;
  std::shared_ptr<std::unique_ptr<Closure>> shared;  // a held command's, and ours if it turns out that nothing is held
  submit(
      *stream, operation, [&] { return submit_closure(device, stream->handle, shared ? *shared : closure); },
      [&]() -> HeldCommand {
        shared = std::make_shared<std::unique_ptr<Closure>>(std::move(closure));
        return [shared, &device, handle = stream->handle] { return submit_closure(device, handle, *shared); };
      });
}

}  // namespace
}  // namespace detail

void StreamView::launch_host_func(std::function<void()> function) const {
  using namespace detail;
  // Made in place: make_unique would move the function once more.
  std::unique_ptr<Closure> closure(new Closure{std::move(function), id_, nullptr});
  if (!launch_quickly(id_, closure)) launch_long_way(id_, std::move(closure));
}

}  // namespace anyplace
