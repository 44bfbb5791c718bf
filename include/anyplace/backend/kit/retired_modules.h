// SPDX-License-Identifier: Apache-2.0
//
// RetiredModules: modules whose handle was destroyed while kernels of theirs may still be queued. They are unloaded
// after that work, because the vendor doesn't say what unloading does to it.
//
// `Vendor` supplies the vendor's calls. All its members are static:
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

/// Thread-safe.
template <class Vendor>
class RetiredModules {
 public:
  using Device = typename Vendor::Device;
  using Native = typename Vendor::Native;
  using Result = typename Vendor::Result;

  /// Modules of `device`, which outlives it.
  explicit RetiredModules(Device& device) noexcept : device_(device) {}
  RetiredModules(const RetiredModules&) = delete;  // it owns modules
  RetiredModules& operator=(const RetiredModules&) = delete;

  /// Takes the module over if pending work may need it, else returns false. The caller is in a Scope.
  bool keep_until_over(Native module);
  /// Unloads the modules whose work is over. close() returns the failures, because they aren't the caller's.
  void sweep() noexcept;
  /// Unloads all modules, when no work runs any more. The caller is in a Scope. Returns the first failure, also of an
  /// earlier sweep.
  Result close() noexcept;
  /// The first failure of a sweep; success if there was none.
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
    // It can't be tracked when the work ends (no memory, or no event to be had), so it is waited for here.
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
  } catch (...) {  // the next sweep asks again
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
