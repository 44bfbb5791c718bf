// SPDX-License-Identifier: Apache-2.0
//
// DeviceBase: one device of a vendor whose calls need a current context on the thread. It has the context, which is
// created at the first use and never before; it turns results of calls into exceptions and notices when the device is
// lost; and it has an internal stream. DeviceScope and EndScope make the context current for a call.
//
// `Vendor` supplies the vendor's calls. All its members are static:
//
//   Native, Result, Stream    types: the vendor's device, its results (Result{} is success), its streams
//   Results                   of results.h, or with the same members
//   Context                   one device's context, constructed of its Native. It has
//       Handle                        a type: what stands for the context in calls; Handle{} if there is none
//       bool read(Handle&) noexcept   the handle; false if it was not begun. Called before most calls
//       Result begin(made)            once, with the context current and before others see it: made(), whose Result
//                                     says whether it began
//   ContextScope              makes a Handle current while it lives, and nothing for Handle{}; has result().
//                             ContextScope(handle, ContextScope::Always{}) tries it in any case; neither throws
//   const char* name          of the backend: "cuda"
//   const char* begin_call, * scope_call     the calls whose failures begin() and a ContextScope have
//   Result make_stream(Stream&) noexcept     one that doesn't wait for others; the context is current
//   Result query(Stream) noexcept            the result is sticky if the device is lost
//   bool is_of(DeviceBase&, Result) noexcept   whether a sticky result is this device's, and no other context's
//   const char* foreign                      what is said of a result that isn't
//   bool is_exit(Result) noexcept            it says only that the process is exiting
//   int attribute(Native, int attribute, int otherwise)
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "../device_backend.h"
#include "results.h"
#include "watcher.h"

namespace anyplace::backend {

/// Thread-safe.
template <class Calls>
class DeviceBase {
 public:
  using Vendor = Calls;  ///< the vendor's calls
  using Native = typename Vendor::Native;
  using Result = typename Vendor::Result;
  using Stream = typename Vendor::Stream;
  using Handle = typename Vendor::Context::Handle;

  /// The device `id` of the driver, which is number `index` of the backend. Calls nothing of the driver's. `watcher`
  /// outlives it.
  DeviceBase(Host host, Watcher& watcher, Native id, std::int32_t index)
      : host_(host), watcher_(watcher), id_(id), index_(index), context_(id) {}
  DeviceBase(const DeviceBase&) = delete;  // streams and events point at it
  DeviceBase& operator=(const DeviceBase&) = delete;

  /// The driver's own name of the device.
  Native id() const noexcept { return id_; }
  /// Its number among the backend's devices, from 0.
  std::int32_t index() const noexcept { return index_; }
  /// Such as "cuda:0".
  std::string place() const { return std::string(Vendor::name) + ":" + std::to_string(index_); }
  /// The thread that looks after pending things.
  Watcher& watcher() noexcept { return watcher_; }
  /// Returns `otherwise` where the driver doesn't know the attribute. Throws on any other failure.
  int attribute(int attribute, int otherwise = 0) const { return Vendor::attribute(id_, attribute, otherwise); }

  // -- The context.
  /// Creates the context at the first call. Throws DEVICE_LOST if the device is lost.
  Handle context() {
    Handle handle{};
    if (!context_.read(handle) || lost()) [[unlikely]]
      return make_context();
    return handle;
  }
  /// The context of a peer, for a call of this device. A lost peer doesn't lose this device: it throws BACKEND_FAILED.
  Handle context_of(DeviceBase& peer);
  /// The context without creating it, also of a lost device, for calls that end something.
  Handle handle() const noexcept {
    Handle handle{};
    static_cast<void>(context_.read(handle));
    return handle;
  }
  /// Whether the context was created.
  bool has_begun() const noexcept {
    Handle handle{};
    return context_.read(handle);
  }
  /// The backend's own stream, for work that must be done at once and for asking whether the device works. It exists
  /// once context() has returned.
  Stream internal_stream() const noexcept { return internal_stream_.load(std::memory_order_acquire); }

  // -- Results of calls.
  /// Throws unless the call succeeded.
  void check(Result result, const char* call) {
    if (result != Result{}) [[unlikely]]
      fail(result, call);
  }
  /// Throws unless the call succeeded.
  void check(const Called<Result>& made) { check(made.result, made.call); }
  /// For calls that end something, which aren't made on a device that is known to be lost: throws nothing if the
  /// process is exiting. A loss that another thread has noted meanwhile is thrown, too, since nobody may have been told
  /// of it.
  void check_end(Result result, const char* call) {
    if (result != Result{} && !Vendor::is_exit(result)) fail(result, call);
  }
  /// Throws. A sticky result loses the device, unless it belongs to another context that is current to the thread.
  [[noreturn]] void fail(Result result, const char* call);
  /// Throws the failure of a call.
  [[noreturn]] void fail(const Called<Result>& made) { fail(made.result, made.call); }
  /// Throws for a call that involved another device: finds out which of the two is lost, if one is.
  [[noreturn]] void fail_with(Result result, const char* call, DeviceBase& other);

  // -- Loss.
  /// Whether the device was found to be lost.
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != Result{}; }
  /// Leaves the reason of the loss as this thread's message.
  void leave_loss() const noexcept {
    const Result result = lost_.load(std::memory_order_acquire);
    try {
      host_.leave_message(static_cast<std::int64_t>(result), Vendor::Results::name_of(result).c_str(),
                          Vendor::Results::text_of(result).c_str());
    } catch (...) {  // the status alone must do
    }
  }
  /// Marks the device as lost, for good. The first result is kept.
  void lose(Result result) noexcept {
    Result none{};
    if (lost_.compare_exchange_strong(none, result, std::memory_order_acq_rel)) watcher_.wake();
  }
  /// Asks the driver, and marks the device as lost if the driver says so.
  bool is_healthy() noexcept;

 protected:
  /// The context, for the derived class.
  typename Vendor::Context& vendor_context() noexcept { return context_; }
  /// The context, to be looked at.
  const typename Vendor::Context& vendor_context() const noexcept { return context_; }

 private:
  Result begin_context() {
    return context_.begin([this] {
      Stream stream{};
      const Result result = Vendor::make_stream(stream);
      internal_stream_.store(stream, std::memory_order_release);
      return result;
    });
  }
  Handle make_context() {
    if (lost()) fail(lost_.load(std::memory_order_relaxed), "the device failed earlier");
    check(begin_context(), Vendor::begin_call);
    return handle();
  }

  const Host host_;
  Watcher& watcher_;
  const Native id_;
  const std::int32_t index_;
  typename Vendor::Context context_;
  std::atomic<Stream> internal_stream_{Stream{}};
  std::atomic<Result> lost_{Result{}};
};

template <class Calls>
auto DeviceBase<Calls>::context_of(DeviceBase& peer) -> Handle {
  if (&peer == this || lost()) return context();
  if (peer.lost()) {
    refuse(ANYPLACE_STATUS_BACKEND_FAILED, peer.place() +
                                               ", which has a part in this call, failed for good earlier in this "
                                               "process; this device didn't");
  }
  if (!peer.has_begun()) {
    const Result result = peer.begin_context();
    if (Vendor::Results::is_sticky(result)) peer.lose(result);
    if (result != Result{}) fail_with(result, Vendor::begin_call, peer);
  }
  return peer.handle();
}

template <class Calls>
void DeviceBase<Calls>::fail(Result result, const char* call) {
  using Results = typename Vendor::Results;
  const bool sticky = Results::is_sticky(result);
  if (sticky && Vendor::is_of(*this, result)) lose(result);
  if (lost()) {
    Results::fail(lost_.load(std::memory_order_relaxed), call, ANYPLACE_STATUS_DEVICE_LOST,
                  "the device can't be used any more in this process: there is no way back from this");
  }
  if (!sticky) Results::fail(result, call);
  Results::fail(result, call, ANYPLACE_STATUS_BACKEND_FAILED, Vendor::foreign);
}

template <class Calls>
void DeviceBase<Calls>::fail_with(Result result, const char* call, DeviceBase& other) {
  if (&other == this || !Vendor::Results::is_sticky(result) || other.is_healthy()) fail(result, call);
  if (lost() || !is_healthy()) fail(result, call);
  Vendor::Results::fail(result, call, ANYPLACE_STATUS_BACKEND_FAILED,
                        "not this device, but " + other.place() + " is lost, which has a part in this");
}

template <class Calls>
bool DeviceBase<Calls>::is_healthy() noexcept {
  if (lost()) return false;
  Handle handle{};
  if (!context_.read(handle)) return true;
  const typename Vendor::ContextScope scope(handle);
  const Result result = scope.result() == Result{} ? Vendor::query(internal_stream()) : scope.result();
  if (Vendor::Results::is_sticky(result)) lose(result);
  return !lost();
}

/// Makes a device's context current, and creates it if need be. Throws what DeviceBase::context throws.
template <class Vendor>
class DeviceScope {
 public:
  /// Makes the context current until the end of the scope.
  explicit DeviceScope(DeviceBase<Vendor>& device) : scope_(device.context()) {
    device.check(scope_.result(), Vendor::scope_call);
  }

 private:
  typename Vendor::ContextScope scope_;
};

/// Makes a device's context current for calls that end something; the constructor never throws. On a lost device the
/// calls aren't made: nothing on it can reliably be released, and what a call did that first reported the loss is
/// unknown.
template <class Vendor>
class EndScope {
 public:
  using Result = typename Vendor::Result;

  /// Makes the context current until the end of the scope; what that gives is looked at in end().
  explicit EndScope(DeviceBase<Vendor>& device) noexcept
      : device_(device), scope_(device.handle(), typename Vendor::ContextScope::Always{}) {}
  /// Runs `call`, which returns a Called<Result>, with the context current. Throws what DeviceBase::check_end throws.
  template <class Call>
  void end(Call&& call) const {
    if (device_.lost()) return;
    const Called<Result> made = call();
    device_.check_end(scope_.result() == Result{} ? made.result : scope_.result(), made.call);
  }
  /// Runs a call that returns a Result; `name` is the call's.
  template <class Call>
  void end(const char* name, Call&& call) const {
    end([&] { return Called<Result>{call(), name}; });
  }

 private:
  DeviceBase<Vendor>& device_;
  const typename Vendor::ContextScope scope_;
};

}  // namespace anyplace::backend
