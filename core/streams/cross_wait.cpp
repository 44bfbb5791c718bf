// SPDX-License-Identifier: Apache-2.0
// Cross waits: making them, arranging for their signal, and signalling them.
#include "streams/cross_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "plugins/device_properties.h"
#include "runtime/layer_notes.h"
#include "runtime/no_destructor.h"
#include "runtime/service.h"
#include "runtime/shortage.h"
#include "streams/hold.h"

namespace anyplace::detail {

/// Owns a backend's gate. Its destructor opens the gate, so that no stream waits for it for ever.
struct Gate {
  DeviceState* device = nullptr;
  anyplace_gate handle = 0;
  std::atomic<bool> opened{false};
  ServiceRoom room{"Stream::wait_event"};  ///< destroying it may be handed over to the service thread

  Gate() = default;
  Gate(const Gate&) = delete;  // it owns the backend's gate
  Gate& operator=(const Gate&) = delete;
  ~Gate();
  void open() noexcept;
};

namespace {

/// Gates that still existed when the process exited: no entry may be called for them any more.
struct Overtaken {
  std::mutex mutex;  // guards gates; a leaf
  std::vector<anyplace_gate> gates;
};
NoDestructor<Overtaken> overtaken;

void leave_gate(anyplace_gate handle) noexcept {
  if (process_phase.load(std::memory_order_relaxed) == Phase::forked) return;
  // They are kept in this list so that a leak checker finds them.
  const std::lock_guard lock(overtaken.value.mutex);
  try {
    overtaken.value.gates.push_back(handle);
  } catch (const std::bad_alloc&) {  // a leak checker will report this one
  }
}

void destroy_gate(DeviceState& device, anyplace_gate handle) noexcept {
  if (!backends_callable()) {
    leave_gate(handle);
    return;
  }
  if (in_callback()) {
    post_to_service([&device, handle] { destroy_gate(device, handle); });
    return;
  }
  const anyplace_status status = device.table->gate_destroy(device.self, handle);
  check_given_back(status, device, "Stream::wait_event");
}

}  // namespace

void Gate::open() noexcept {
  if (opened.exchange(true) || !backends_callable() || device->lost.load(std::memory_order_relaxed)) return;
  check_quietly(device->table->gate_open(device->self, handle), *device, "Stream::wait_event");
}

Gate::~Gate() {
  if (handle == 0) return;
  open();
  destroy_gate(*device, handle);
}

// ---- The signal ----------------------------------------------------------------------------------------------------
namespace {

/// The waiting stream's fault when the device that it waits for is lost. The place is the producer's.
Error lost_producer(const DeviceState& producer) {
  ErrorDetails details;
  details.code = ErrorCode::device_lost;
  details.place = producer.place;
  details.operation = "Stream::wait_event";
  details.text = fmt::format("a stream of another device waited for work of {}, which was lost", producer.place);
  details.remedy = "the stream goes on, and its later work may not find that work done";
  add_loss(details, producer);
  return Error(std::move(details));
}

/// Faults of the waiting stream never mark its own device lost.
void fault_waiter(std::uint64_t stream_id, const Error& error) noexcept {
  // This may be a backend's thread: if the pin below is the last one, the service thread destroys the stream.
  const CallbackScope scope;
  if (const Pin<StreamState> stream = streams().try_pin(stream_id)) {
    keep_fault(*stream, error);
  } else {
    report(error);
  }
}

void signal_lost(CrossWait& wait) noexcept {
  const Error error = error_or_shortage([&] { return lost_producer(*wait.producer); });
  signal_cross_wait(wait, &error);
}

/// Signals the wait with the status that the producer's backend gave for the helper stream's work.
void signal_status(CrossWait& wait, anyplace_status status) noexcept {
  if (status == ANYPLACE_STATUS_OK) {
    signal_cross_wait(wait, nullptr);
  } else if (status == ANYPLACE_STATUS_DEVICE_LOST) {
    note_quietly(status, *wait.producer, "Stream::wait_event");  // the loss of the device signals the wait
  } else {
    const Error error = error_or_shortage([&] { return make_error(status, *wait.producer, "Stream::wait_event"); });
    signal_cross_wait(wait, &error);
  }
}

/// The host function in the helper stream.
void signal_from_producer(void* user, anyplace_status status) noexcept {
  const CallbackScope scope;
  const std::unique_ptr<std::shared_ptr<CrossWait>> owned(static_cast<std::shared_ptr<CrossWait>*>(user));
  CrossWait& wait = **owned;
  signal_status(wait, status);
  wait.helper.reset();
}

/// The polling thread's step, used where the producer has no host functions.
bool poll_producer(CrossWait& wait) noexcept {
  DeviceState& device = *wait.producer;
  if (!device.lost.load(std::memory_order_relaxed)) {
    std::int32_t done = 0;
    const anyplace_status status = device.table->stream_query(device.self, wait.helper->handle, &done);
    if (status == ANYPLACE_STATUS_OK && done == 0) return false;
    signal_status(wait, status);
  }
  wait.helper.reset();
  return true;
}

/// Does everything that can fail. Once it returns, the wait is sure to be signalled.
void arrange_signal(const std::shared_ptr<CrossWait>& wait, anyplace_event event, const char* operation) {
  DeviceState& device = *wait->producer;
  require_usable(device, operation);
  auto asked = std::make_unique<std::shared_ptr<CrossWait>>(wait);
  wait->helper = take_helper_stream(device, operation);
  const anyplace_stream helper = wait->helper->handle;
  check(device.table->stream_wait_event(device.self, helper, event), device, operation);

  if (has_capability(device, Capability::host_functions, operation)) {
    auto owned = std::make_unique<std::shared_ptr<CrossWait>>(wait);
    const anyplace_status status =
        device.table->stream_host_function(device.self, helper, signal_from_producer, owned.get());
    if (status == ANYPLACE_STATUS_OK) {
      static_cast<void>(owned.release());
      return;
    }
    check(status == ANYPLACE_STATUS_DEVICE_LOST ? status : ANYPLACE_STATUS_OK, device, operation);
    take_message();  // polling, which comes next, works as well
  }
  poll_in_service([asked = asked.release()] {
    if (!poll_producer(**asked)) return false;
    delete asked;
    return true;
  });
}

}  // namespace

void signal_cross_wait(CrossWait& wait, const Error* failure) noexcept {
  if (wait.claimed.exchange(true)) return;
  // The fault is set before the stream goes on, so that a thread which sees the stream idle also sees the fault.
  if (failure != nullptr) fault_waiter(wait.stream_id, *failure);
  std::shared_ptr<CrossWait> kept;
  Pin<StreamState> released;  // declared before the lock: its end may dispose of the stream
  bool drain = false;
  {
    const std::lock_guard lock(holds().mutex);
    wait.signalled = true;
    kept = *wait.outstanding;
    holds().outstanding.erase(wait.outstanding);
    drain = drain_is_due(wait) && !release_at_once(wait, released);
    holds().changed.notify_all();
  }
  if (wait.gate) wait.gate->open();
  if (drain) post_drain(*wait.held_stream);
}

void start_cross_wait(const std::shared_ptr<CrossWait>& wait, anyplace_event event) noexcept {
  note_stream_waits(*wait->producer, event, wait->stream_id);  // its record wasn't submitted when the wait was
  try {
    arrange_signal(wait, event, "Stream::wait_event");
  } catch (const Error& error) {
    signal_cross_wait(*wait, &error);
  } catch (const std::bad_alloc&) {
    signal_cross_wait(*wait, &no_memory_error());
  } catch (const std::exception& exception) {
    leave_message(0, "", exception.what());
    signal_status(*wait, ANYPLACE_STATUS_INTERNAL);
  }
}

// -- Making one ------------------------------------------------------------------------------------------------------
namespace {

/// Returns null if the vendor's library turned out only now to have no gates.
std::shared_ptr<Gate> make_gate(DeviceState& device, const char* operation) {
  auto gate = std::make_shared<Gate>();
  gate->device = &device;
  const anyplace_status made = device.table->gate_create(device.self, device.index, &gate->handle);
  if (made == ANYPLACE_STATUS_UNSUPPORTED) {
    static_cast<void>(take_message());
    return nullptr;
  }
  check(made, device, operation);
  return gate;
}

void submit_gate_wait(StreamState& stream, const std::shared_ptr<Gate>& gate, const char* operation) {
  DeviceState& device = *stream.device;
  const auto wait_now = [gate, handle = stream.handle] {
    return gate->device->table->stream_wait_gate(gate->device->self, handle, gate->handle);
  };
  require_usable(device, operation);
  const bool held = stream.held.load(std::memory_order_acquire) && hold_back(stream, wait_now);
  if (!held) check(wait_now(), device, operation);
}

/// Returns false if the vendor's library turned out only now to have no gates; then nothing was done.
bool wait_on_gate(StreamState& stream, CrossWait& wait, const char* operation) {
  std::shared_ptr<Gate> gate = make_gate(*stream.device, operation);
  if (gate == nullptr) return false;
  try {
    submit_gate_wait(stream, gate, operation);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return false;
  }
  wait.gate = std::move(gate);
  return true;
}

/// The waiter's side: nothing that is submitted to the stream after this runs before the signal.
void block(StreamState& stream, const std::shared_ptr<CrossWait>& wait, bool foreign, const char* operation) {
  DeviceState& device = *stream.device;
  if (foreign && has_capability(device, Capability::gates, operation) && wait_on_gate(stream, *wait, operation)) return;
  wait->held_stream = &stream;
  hold_until(stream, wait);
}

/// Adds the wait to those that aren't signalled yet. `listed` is a list of it alone.
void add_outstanding(const std::shared_ptr<CrossWait>& wait, std::list<std::shared_ptr<CrossWait>>& listed) noexcept {
  const std::lock_guard lock(holds().mutex);
  wait->outstanding = listed.begin();
  holds().outstanding.splice(holds().outstanding.end(), listed);
}

/// False if the record has been submitted meanwhile.
bool start_when_submitted(const std::shared_ptr<CrossWait>& wait, HeldRecord& record) {
  const std::lock_guard lock(holds().mutex);
  if (record.state != HeldRecord::State::queued) return false;
  record.waits.push_back(wait);
  return true;
}

}  // namespace

void wait_across(StreamState& stream, const Record& record, const char* operation) {
  DeviceState& producer = *record.device;
  auto wait = std::make_shared<CrossWait>();
  wait->producer = &producer;
  wait->stream_id = stream.id;
  // The list's node is allocated first, so that nothing can fail once the stream waits.
  std::list<std::shared_ptr<CrossWait>> listed{wait};
  // The backends see a gate and a host function, and not that one stream waits for another.
  if (!record.held) note_stream_waits(producer, record.handle, stream.id);
  block(stream, wait, producer.backend != stream.device->backend, operation);
  add_outstanding(wait, listed);
  try {
    // If the record was dropped, its device is lost and arrange_signal() throws, or its submission failed and the
    // event, never recorded, counts as complete.
    if (!record.held || !start_when_submitted(wait, *record.held)) arrange_signal(wait, record.handle, operation);
  } catch (...) {
    signal_cross_wait(*wait, nullptr);
    throw;
  }
  // If the device was lost before the wait was in the list, release_waiters_of() has missed the wait.
  if (producer.lost.load(std::memory_order_acquire)) signal_lost(*wait);
}

std::shared_ptr<CrossWait> wait_for_host(StreamState& stream, void (*help)() noexcept, const char* operation) {
  require_usable(*stream.device, operation);
  auto wait = std::make_shared<CrossWait>();
  wait->stream_id = stream.id;
  wait->help = help;
  wait->held_stream = &stream;
  // The list's node is allocated first, so that nothing can fail once the stream waits.
  std::list<std::shared_ptr<CrossWait>> listed{wait};
  hold_until(stream, wait);
  add_outstanding(wait, listed);
  return wait;
}

std::shared_ptr<CrossWait> make_host_wait(StreamState& stream, const char* operation) {
  require_usable(*stream.device, operation);
  auto wait = std::make_shared<CrossWait>();
  wait->stream_id = stream.id;
  std::list<std::shared_ptr<CrossWait>> listed{wait};
  wait->gate = make_gate(*stream.device, operation);
  if (wait->gate == nullptr) refuse_capability(*stream.device, Capability::gates, operation);
  add_outstanding(wait, listed);
  return wait;
}

void submit_host_wait(StreamState& stream, const CrossWait& wait, const char* operation) {
  submit_gate_wait(stream, wait.gate, operation);
}

void release_waiters_of(DeviceState& device) noexcept {
  while (true) {
    std::shared_ptr<CrossWait> released;
    {
      const std::lock_guard lock(holds().mutex);
      for (const std::shared_ptr<CrossWait>& wait : holds().outstanding) {
        // A claimed wait is signalled by the thread that claimed it.
        if (wait->producer == &device && !wait->claimed.load()) released = wait;
      }
      holds().changed.notify_all();
    }
    if (released == nullptr) return;
    signal_lost(*released);
  }
}

bool settle_cross_waits(std::chrono::nanoseconds timeout) noexcept {
  std::unique_lock lock(holds().mutex);
  return wait_for_condition(holds().changed, lock, Deadline(to_timeout_ns(timeout)),
                            [] { return holds().streams.empty() && holds().outstanding.empty(); });
}

}  // namespace anyplace::detail
