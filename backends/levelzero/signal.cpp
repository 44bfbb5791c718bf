// SPDX-License-Identifier: Apache-2.0
#include "signal.h"

#include <algorithm>
#include <chrono>

#include "device_base.h"

namespace anyplace::levelzero {
namespace {

/// The number of signals in the first page, and the most in one page. Each page has twice as many as the one before.
constexpr std::uint32_t signals_at_first = 32, signals_at_most = 512;

}  // namespace

// ---- Signal --------------------------------------------------------------------------------------------------------

bool Signal::is_complete() {
  if (is_known_complete()) return true;
  const ze_result_t result = api().EventQueryStatus(native_);
  if (result == ZE_RESULT_NOT_READY) {
    if (device_->lost()) device_->fail(result, "zeEventQueryStatus");
    return false;
  }
  device_->check(result, "zeEventQueryStatus");
  device_->require();  // a lost device's events are signalled only to release waiters
  set_complete();
  return true;
}

bool Signal::is_complete_for_sure() noexcept {
  if (is_known_complete()) return true;
  const ze_result_t result = api().EventQueryStatus(native_);
  if (Results::is_sticky(result)) device_->lose(result);
  if (result != ZE_RESULT_SUCCESS || device_->lost()) return false;
  set_complete();
  return true;
}

bool Signal::wait(const Deadline& deadline) {
  // Between slices of waiting the device's health is checked, because not every driver ends waits when a device is
  // lost.
  constexpr std::chrono::nanoseconds slice = std::chrono::milliseconds(100);
  while (true) {
    if (is_known_complete()) return true;
    device_->require();
    const auto left = deadline.left(slice);
    if (left.count() == 0) return is_complete();
    const ze_result_t result = api().EventHostSynchronize(native_, static_cast<std::uint64_t>(left.count()));
    if (result == ZE_RESULT_SUCCESS) {
      // On a lost device the wait may have ended without the work being done.
      if (!device_->lost()) set_complete();
    } else if (result != ZE_RESULT_NOT_READY) {
      device_->fail(result, "zeEventHostSynchronize");
    } else {
      device_->check_health();
    }
  }
}

ze_result_t Signal::signal_from_host() noexcept {
  // Streams that wait for the signal would wait for ever, so a failed call is tried again.
  constexpr int attempts = 3;
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (int i = 0; i < attempts; ++i) {
    result = api().EventHostSignal(native_);
    if (result == ZE_RESULT_SUCCESS || Results::is_sticky(result)) break;
  }
  return result;
}

void SignalRef::release() noexcept {
  Signal* const signal = std::exchange(signal_, nullptr);
  if (signal == nullptr || signal->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  signal->pool_->give(*signal);
}

// ---- SignalPool ----------------------------------------------------------------------------------------------------

struct SignalPool::Page {
  explicit Page(std::uint32_t size) : count(size), signals(new Signal[size]) {}

  const std::uint32_t count;
  const std::unique_ptr<Signal[]> signals;
  ze_event_pool_handle_t pool = nullptr;
  std::uint64_t* timestamps = nullptr;
};

SignalPool::SignalPool(DeviceBase& device) noexcept : device_(device) {}

SignalPool::~SignalPool() = default;

SignalRef SignalPool::take() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (Signal* const signal = idle_) {
        idle_ = signal->next_idle_;
        return SignalRef(signal);
      }
    }
    add_page();
  }
}

void SignalPool::give(Signal& signal) noexcept {
  // A signal of a lost device, or one that can't be reset, isn't reused.
  if (device_.lost()) return;
  ze_result_t result = ZE_RESULT_SUCCESS;
  {
    const std::lock_guard lock(mutex_);
    if (signal.native_ == nullptr) return;
    result = api().EventHostReset(signal.native_);
    if (result == ZE_RESULT_SUCCESS) {
      signal.complete_.store(false, std::memory_order_release);
      signal.next_idle_ = idle_;
      idle_ = &signal;
    }
  }
  if (Results::is_sticky(result)) device_.lose(result);
}

void SignalPool::add_page() {
  std::uint32_t size = signals_at_first;
  {
    const std::lock_guard lock(mutex_);
    if (!pages_.empty()) size = std::min(pages_.back()->count * 2, signals_at_most);
  }
  auto page = std::make_unique<Page>(size);
  const ze_context_handle_t context = device_.context();
  ze_result_t result = ZE_RESULT_SUCCESS;
  const char* call = nullptr;
  if (!make_page(*page, context, result, call)) {
    FirstFailure ignored;
    end_page(*page, context, ignored);
    device_.check(result, call);
    check_made(nullptr, call);
  }
  const std::lock_guard lock(mutex_);
  pages_.push_back(std::move(page));
  for (std::uint32_t i = 0; i < size; ++i) {
    Signal& signal = pages_.back()->signals[i];
    signal.device_ = &device_;
    signal.pool_ = this;
    signal.next_idle_ = idle_;
    idle_ = &signal;
  }
}

/// Makes a page. On failure returns false, and sets `call` and `result` to the call that failed and its result.
bool SignalPool::make_page(Page& page, ze_context_handle_t context, ze_result_t& result, const char*& call) noexcept {
  ze_event_pool_desc_t pool{};
  pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  pool.count = page.count;
  call = "zeEventPoolCreate";
  // Without a list of devices the events are visible to all of the driver's devices.
  result = api().EventPoolCreate(context, &pool, 0, nullptr, &page.pool);
  if (result != ZE_RESULT_SUCCESS || page.pool == nullptr) return false;

  ze_host_mem_alloc_desc_t memory{};
  memory.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  void* timestamps = nullptr;
  call = "zeMemAllocHost";
  result = api().MemAllocHost(context, &memory, page.count * sizeof(std::uint64_t), 64, &timestamps);
  if (result != ZE_RESULT_SUCCESS || timestamps == nullptr) return false;
  page.timestamps = static_cast<std::uint64_t*>(timestamps);

  call = "zeEventCreate";
  for (std::uint32_t i = 0; i < page.count; ++i) {
    ze_event_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    desc.index = i;
    desc.signal = ZE_EVENT_SCOPE_FLAG_HOST;
    desc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    result = api().EventCreate(page.pool, &desc, &page.signals[i].native_);
    if (result != ZE_RESULT_SUCCESS || page.signals[i].native_ == nullptr) return false;
    page.timestamps[i] = 0;
    page.signals[i].timestamp_ = &page.timestamps[i];
  }
  return true;
}

void SignalPool::end_page(Page& page, ze_context_handle_t context, FirstFailure& failure) noexcept {
  for (std::uint32_t i = 0; i < page.count; ++i) {
    ze_event_handle_t& event = page.signals[i].native_;
    if (event != nullptr) failure.add(api().EventDestroy(std::exchange(event, nullptr)), "zeEventDestroy");
  }
  if (page.pool != nullptr)
    failure.add(api().EventPoolDestroy(std::exchange(page.pool, nullptr)), "zeEventPoolDestroy");
  if (page.timestamps != nullptr) {
    failure.add(api().MemFree(context, std::exchange(page.timestamps, nullptr)), "zeMemFree");
  }
}

void SignalPool::release_waits() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& page : pages_) {
    for (std::uint32_t i = 0; i < page->count; ++i) {
      Signal& signal = page->signals[i];
      if (signal.references_.load(std::memory_order_acquire) != 0) api().EventHostSignal(signal.native_);
    }
  }
}

void SignalPool::close(FirstFailure& failure) noexcept {
  const std::lock_guard lock(mutex_);
  idle_ = nullptr;
  for (const auto& page : pages_) end_page(*page, device_.context_or_null(), failure);
}

}  // namespace anyplace::levelzero
