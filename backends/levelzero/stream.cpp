// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace anyplace::levelzero {
namespace {

/// The most waits that are remembered without a marker behind them; then a marker is added.
constexpr std::size_t kept_at_most = 32;

}  // namespace

Stream::Stream(Device& device, const IdleList& list, StreamKind kind, std::uint64_t cookie) noexcept
    : device_(device), list_(list.list), order_(list.order), priority_(list.priority), kind_(kind), cookie_(cookie) {}

Stream::~Stream() {
  in_flight_.clear();
  kept_.clear();
  tail_ = SignalRef();
}

ze_result_t Stream::end() noexcept {
  FirstFailure failure;
  if (order_ != StreamOrder::adopted) device_.work().keep_list({list_, order_, priority_});
  if (staging_ != nullptr) failure.add(api().MemFree(device_.context_or_null(), std::exchange(staging_, nullptr)), "");
  return failure.result;
}

// ---- Commands ------------------------------------------------------------------------------------------------------

/// Adds a barrier: commands behind it begin only after all commands before it are done.
void Stream::add_barrier() {
  device_.check(api().CommandListAppendBarrier(list_, nullptr, 0, nullptr), "zeCommandListAppendBarrier");
}

void Stream::forget_what_is_over() noexcept {
  while (!in_flight_.empty() && in_flight_.front().done->is_complete_for_sure()) {
    for (const SignalRef& signal : in_flight_.front().kept) report_if_released(signal);
    in_flight_.pop_front();
  }
}

/// Reports a fault if the signal's device was lost: the wait for it then ended without the work being done.
void Stream::report_if_released(const SignalRef& signal) noexcept {
  const DeviceBase& other = signal->device();
  if (&other == &device_ || !other.lost() || signal->is_known_complete()) return;
  try {
    const std::string text = "the stream waited for work of " + other.place() +
                             ", which was lost: it waits no longer, and what comes after may not find that work done";
    device_.host().stream_fault(cookie_, ANYPLACE_STATUS_BACKEND_FAILED, text.c_str(), other.loss(),
                                Results::name_of(other.loss()).c_str());
  } catch (...) {  // there is no memory for the message
    device_.host().stream_fault(cookie_, ANYPLACE_STATUS_BACKEND_FAILED, "a device that was waited for was lost");
  }
}

void Stream::wait(const SignalRef& signal) {
  device_.require();
  if (!signal || signal->is_known_complete()) return;
  device_.require_other(signal->device());
  const LegacyTurn turn(*this);
  if (&signal->device().driver_context() == &device_.driver_context()) {
    const std::lock_guard lock(mutex_);
    wait_locked(&signal, 1);
    return;
  }
  // Drivers can't wait for each other's events, so a thread waits for the one event and then signals another.
  SignalRef here = device_.signals().take();
  Waiter::JobRef job = device_.helper().make_job(signal, here, nullptr, cookie_);
  const std::lock_guard lock(mutex_);
  wait_for_step(here);
  device_.helper().add(std::move(job));
}

void Stream::wait_for_host(const SignalRef& signal, const std::function<void()>& begin) {
  device_.require();
  const LegacyTurn turn(*this);
  {
    const std::lock_guard lock(mutex_);
    wait_for_step(signal);
  }
  try {
    begin();
  } catch (...) {
    signal->signal_from_host();
    throw;
  }
}

/// Makes the list wait for a step's signal, before the step is added. If this fails half-way, it signals the signal
/// itself, because the step will never do it.
void Stream::wait_for_step(const SignalRef& after) {
  try {
    wait_locked(&after, 1);
  } catch (...) {
    after->signal_from_host();
    throw;
  }
}

void Stream::wait_own(const std::vector<SignalRef>& signals) {
  if (signals.empty()) return;
  const std::lock_guard lock(mutex_);
  wait_locked(signals.data(), signals.size());
}

void Stream::wait_locked(const SignalRef* signals, std::size_t count) {
  std::vector<ze_event_handle_t> events;
  events.reserve(count + 1);
  for (std::size_t i = 0; i < count; ++i) events.push_back(signals[i]->native());
  kept_.reserve(kept_.size() + count);
  switch (order_) {
    case StreamOrder::chained: {
      std::vector<SignalRef> kept(signals, signals + count);
      append_locked(
          "zeCommandListAppendBarrier", device_.signals().take(),
          [&](ze_command_list_handle_t list, ze_event_handle_t signal, std::uint32_t waits, ze_event_handle_t* before) {
            if (waits != 0) events.push_back(*before);
            return api().CommandListAppendBarrier(list, signal, static_cast<std::uint32_t>(events.size()),
                                                  events.data());
          });
      // The entry in question is the last one, unless it is complete and was removed.
      if (!in_flight_.empty()) in_flight_.back().kept = std::move(kept);
      return;
    }
    case StreamOrder::in_order:
      device_.check(api().CommandListAppendWaitOnEvents(list_, static_cast<std::uint32_t>(count), events.data()),
                    "zeCommandListAppendWaitOnEvents");
      break;
    case StreamOrder::adopted:
      device_.check(api().CommandListAppendBarrier(list_, nullptr, static_cast<std::uint32_t>(count), events.data()),
                    "zeCommandListAppendBarrier");
      break;
  }
  kept_.insert(kept_.end(), signals, signals + count);
  tail_is_last_ = false;
  if (kept_.size() > kept_at_most) marker_locked();
}

void Submission::append_host_step(Waiter& waiter, Waiter::Step step) {
  SignalRef after = device().signals().take();
  Waiter::JobRef job = waiter.make_job(SignalRef(), after, std::move(step), stream_.cookie_);
  job->before = stream_.marker_locked();
  stream_.wait_for_step(after);
  waiter.add(std::move(job));
}

void Stream::launch_host_function(anyplace_host_function function, void* user) {
  Submission(*this).append_host_step(device_.host_functions(),
                                     [function, user](anyplace_status status) { function(user, status); });
}

// ---- Markers -------------------------------------------------------------------------------------------------------

SignalRef Stream::marker_locked() {
  if (order_ == StreamOrder::chained || (order_ == StreamOrder::in_order && tail_is_last_)) return tail_;
  append_locked(order_ == StreamOrder::in_order ? "zeCommandListAppendSignalEvent" : "zeCommandListAppendBarrier",
                device_.signals().take(),
                [this](ze_command_list_handle_t list, ze_event_handle_t signal, std::uint32_t, ze_event_handle_t*) {
                  if (order_ == StreamOrder::in_order) return api().CommandListAppendSignalEvent(list, signal);
                  return api().CommandListAppendBarrier(list, signal, 0, nullptr);
                });
  return tail_;
}

SignalRef Stream::last_marker() const {
  const std::lock_guard lock(mutex_);
  return tail_;
}

bool Stream::is_seen_over() {
  const std::lock_guard lock(mutex_);
  forget_what_is_over();
  return in_flight_.empty() && tail_is_last_;
}

SignalRef Stream::own_marker() {
  const std::lock_guard lock(mutex_);
  return marker_locked();
}

SignalRef Stream::marker() {
  device_.require();
  const LegacyTurn turn(*this);
  return own_marker();
}

SignalRef Stream::timestamp() {
  device_.require();
  const LegacyTurn turn(*this);
  SignalRef signal = device_.signals().take();
  const std::lock_guard lock(mutex_);
  append_locked(
      "zeCommandListAppendWriteGlobalTimestamp", signal,
      [&](ze_command_list_handle_t list, ze_event_handle_t done, std::uint32_t waits, ze_event_handle_t* before) {
        return api().CommandListAppendWriteGlobalTimestamp(list, signal->timestamp(), done, waits, before);
      });
  return signal;
}

/// The markers to wait for. The null stream counts as done only when the blocking streams are done.
std::vector<SignalRef> Stream::markers() {
  device_.require();
  std::vector<SignalRef> all;
  if (kind_ == StreamKind::null && device_.work().is_legacy_used()) all = device_.work().blocking_markers();
  if (SignalRef own = own_marker()) all.push_back(std::move(own));
  return all;
}

bool Stream::query() {
  const std::vector<SignalRef> all = markers();
  for (const SignalRef& marker : all) {
    if (!marker->is_complete()) return false;
  }
  const std::lock_guard lock(mutex_);
  forget_what_is_over();
  return true;
}

bool Stream::synchronize(std::uint64_t timeout_ns) {
  const Deadline deadline(timeout_ns);
  const std::vector<SignalRef> all = markers();
  for (const SignalRef& marker : all) {
    if (!marker->wait(deadline)) return false;
  }
  const std::lock_guard lock(mutex_);
  forget_what_is_over();
  return true;
}

void* Submission::staging() {
  if (stream_.staging_ == nullptr) {
    ze_host_mem_alloc_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
    void* made = nullptr;
    device().check(api().MemAllocHost(device().context(), &desc, Stream::staging_bytes, 64, &made), "zeMemAllocHost");
    check_made(made, "zeMemAllocHost");
    stream_.staging_ = made;
  }
  return stream_.staging_;
}

// ---- Making --------------------------------------------------------------------------------------------------------

namespace {

ze_command_queue_priority_t priority_of(std::int32_t priority) {
  if (priority < 0) return ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH;
  return priority > 0 ? ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW : ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
}

/// Whether a driver, or an old validation layer, returns this result for a flag or priority that it doesn't know.
bool refuses_value(ze_result_t result) {
  return result == ZE_RESULT_ERROR_INVALID_ENUMERATION || result == ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION ||
         result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

IdleList make_list(Device& device, std::int32_t priority) {
  const ze_context_handle_t context = device.context();
  StreamOrder order = device.driver_context().has_in_order_lists() ? StreamOrder::in_order : StreamOrder::chained;
  if (const IdleList idle = device.work().take_list(order, priority); idle.list != nullptr) return idle;
  ze_command_queue_desc_t desc{};
  desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  desc.ordinal = device.queue_group();
  desc.index = device.next_queue();
  desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  desc.priority = priority_of(priority);
  if (order == StreamOrder::in_order) desc.flags |= command_queue_flag_in_order;
  ze_command_list_handle_t list = nullptr;
  ze_result_t result = api().CommandListCreateImmediate(context, device.native(), &desc, &list);
  if (refuses_value(result) && order == StreamOrder::in_order && device.driver_context().give_up_in_order_lists()) {
    order = StreamOrder::chained;
    desc.flags = 0;
    result = api().CommandListCreateImmediate(context, device.native(), &desc, &list);
  }
  if (refuses_value(result) && desc.priority != ZE_COMMAND_QUEUE_PRIORITY_NORMAL) {
    desc.priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
    result = api().CommandListCreateImmediate(context, device.native(), &desc, &list);
  }
  if (refuses_value(result) && order == StreamOrder::in_order) {
    Results::fail(
        result, "zeCommandListCreateImmediate", ANYPLACE_STATUS_UNSUPPORTED,
        "ANYPLACE_LEVELZERO_IN_ORDER=1 insists on lists that keep their order, which this driver hasn't: unset it");
  }
  device.check(result, "zeCommandListCreateImmediate");
  check_made(list, "zeCommandListCreateImmediate");
  return {list, order, priority};
}

Stream* make_of_kind(Device& device, std::int32_t priority, StreamKind kind, std::uint64_t cookie) {
  device.work().sweep();
  const IdleList list = make_list(device, std::clamp(priority, -1, 1));
  try {
    auto stream = std::make_unique<Stream>(device, list, kind, cookie);
    device.work().add(*stream);
    return stream.release();
  } catch (...) {
    device.work().keep_list(list);
    throw;
  }
}

}  // namespace

Stream* Stream::make(Device& device, const anyplace_stream_desc& desc) {
  const bool blocking = (desc.flags & ANYPLACE_STREAM_BLOCKING) != 0;
  return make_of_kind(device, desc.priority, blocking ? StreamKind::blocking : StreamKind::plain, desc.cookie);
}

Stream* Stream::make_null(Device& device, const anyplace_stream_desc& desc) {
  return make_of_kind(device, 0, StreamKind::null, desc.cookie);
}

Stream* Stream::adopt(Device& device, std::uint64_t native, const anyplace_stream_desc& desc) {
  // The driver would use any number as an address. Small numbers can't be addresses; they are other vendors' names of
  // default streams.
  constexpr std::uint64_t lowest_address = 4096;
  if (native < lowest_address) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           native == 0 ? "the command list is null"
                       : std::to_string(native) +
                             " is no handle of a command list: Level Zero has no numbers for default streams; pass one "
                             "of zeCommandListCreateImmediate, or use Device::default_stream");
  }
  auto* const list = anyplace::backend::from_handle<std::remove_pointer_t<ze_command_list_handle_t>>(native);
  device.context();
  // If the list belongs to a stream of this backend, the result is that stream, with its order and its mutex.
  if (Stream* const known = device.work().share(list)) return known;
  ze_bool_t immediate = 1;
  if (api().CommandListIsImmediate != nullptr && api().CommandListIsImmediate(list, &immediate) == ZE_RESULT_SUCCESS &&
      immediate == 0) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "the command list isn't immediate, so nothing would run; pass one of zeCommandListCreateImmediate");
  }
  ze_device_handle_t of = device.native();
  if (api().CommandListGetDeviceHandle != nullptr && api().CommandListGetDeviceHandle(list, &of) == ZE_RESULT_SUCCESS &&
      of != device.native()) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "the command list is of another device than " + device.place() + "; wrap it for its own");
  }
  return device.work().add_or_share(
      std::make_unique<Stream>(device, IdleList{list, StreamOrder::adopted, 0}, StreamKind::plain, desc.cookie));
}

}  // namespace anyplace::levelzero
