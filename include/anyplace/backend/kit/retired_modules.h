// SPDX-License-Identifier: Apache-2.0
//
// RetiredModules: modules whose handle is gone while kernels of theirs may still be queued, for a vendor that says
// nothing of unloading under running work. They are unloaded after it.
//
// `Vendor` says what the vendor's calls are. All its members are static:
//
//   Device, Native, Result, Pending      types; Result{} is success; Pending has is_over(), which may throw
//   Scope                                constructed of a Device&: its context is current while it lives; never throws
//   Pending pending(Device&)             what is submitted and may not be over; throws
//   void wait_for_all(Device&) noexcept
//   Result unload(Device&, Native) noexcept     in a Scope; loses the device if the result says so
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace anyplace::backend {

/// Any thread.
template <class Vendor>
class RetiredModules {
 public:
  using Device = typename Vendor::Device;
  using Native = typename Vendor::Native;
  using Result = typename Vendor::Result;

  explicit RetiredModules(Device& device) noexcept : device_(device) {}
  RetiredModules(const RetiredModules&) = delete;  // it owns modules
  RetiredModules& operator=(const RetiredModules&) = delete;

  /// Takes the module over if work is pending that may need it; false if there is none. In a Scope.
  bool keep_until_over(Native module);
  /// Unloads those whose time has come. What fails is told by close(): it is no failure of whoever calls this.
  void sweep() noexcept;
  /// Unloads all, in a Scope. Nothing runs any more. The first failure, of a sweep too.
  Result close() noexcept;
  Result failure() const noexcept { return failed_.load(std::memory_order_acquire); }

 private:
  struct Retired {
    Native module;
    typename Vendor::Pending pending;
  };

  void unload(Native module) noexcept {
    const Result result = Vendor::unload(device_, module);
    Result none{};
    if (result != none) failed_.compare_exchange_strong(none, result, std::memory_order_acq_rel);
  }

  Device& device_;
  std::atomic<Result> failed_{Result{}};
  std::mutex mutex_;  // guards modules_; Pending is asked under it
  std::vector<Retired> modules_;
};

template <class Vendor>
bool RetiredModules<Vendor>::keep_until_over(Native module) {
  try {
    sweep();
    typename Vendor::Pending pending = Vendor::pending(device_);
    if (pending.is_over()) return false;
    const std::lock_guard lock(mutex_);
    modules_.push_back({module, std::move(pending)});
    return true;
  } catch (...) {
    // It can't be known when (no memory, or no event to be had): then this once it is waited for.
    Vendor::wait_for_all(device_);
    return false;
  }
}

template <class Vendor>
void RetiredModules<Vendor>::sweep() noexcept {
  std::vector<Native> over;
  try {
    const std::lock_guard lock(mutex_);
    over.reserve(modules_.size());
    for (std::size_t i = modules_.size(); i-- > 0;) {
      if (!modules_[i].pending.is_over()) continue;
      over.push_back(modules_[i].module);
      std::swap(modules_[i], modules_.back());
      modules_.pop_back();
    }
  } catch (...) {  // those that can't be asked about are looked at again the next time
  }
  if (over.empty() || device_.lost()) return;
  const typename Vendor::Scope scope(device_);
  for (const Native module : over) unload(module);
}

template <class Vendor>
auto RetiredModules<Vendor>::close() noexcept -> Result {
  const std::lock_guard lock(mutex_);
  for (const Retired& retired : modules_) unload(retired.module);
  modules_.clear();
  return failure();
}

}  // namespace anyplace::backend
