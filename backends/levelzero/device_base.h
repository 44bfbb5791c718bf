// SPDX-License-Identifier: Apache-2.0
//
// DeviceBase: one Level Zero device, its context and its loss: what all that is kept for a device is made with. A
// result that Level Zero calls so loses it for good, and only what ends things is still called then.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "anyplace/backend/device_backend.h"
#include "context.h"
#include "error.h"

namespace anyplace::levelzero {

/// What a device says of itself and the rest is built on. Asked once, without a context.
struct Facts {
  ze_device_properties_t properties{};
  std::uint32_t ip_version = 0;  ///< of the graphics core, as the extension packs it; 0: the driver doesn't say
  ze_device_compute_properties_t compute{};
  ze_device_memory_access_properties_t access{};
  std::uint64_t total_memory = ANYPLACE_UNKNOWN;
  double ticks_per_second = 0;  ///< of the global timestamp; 0: the device doesn't say
  unsigned timestamp_bits = 64;
  bool has_queue_group = false;
  std::uint32_t queue_group = 0;  ///< with compute, and copies
  std::uint32_t queues = 0;       ///< of that group
  std::uint64_t longest_fill_pattern = 1;
  bool shares_memory = false;  ///< with other processes
};

class DeviceBase {
 public:
  DeviceBase(anyplace::backend::Host host, Context& context, ze_device_handle_t native, std::int32_t index);
  DeviceBase(const DeviceBase&) = delete;  // streams and events point at it
  DeviceBase& operator=(const DeviceBase&) = delete;

  const anyplace::backend::Host& host() const noexcept { return host_; }
  ze_device_handle_t native() const noexcept { return native_; }
  std::int32_t index() const noexcept { return index_; }
  const Facts& facts() const noexcept { return facts_; }
  Context& driver_context() const noexcept { return context_; }

  /// Made at the first call. Throws DEVICE_LOST when the device is.
  ze_context_handle_t context() {
    require();
    return context_.get();
  }
  ze_context_handle_t context_or_null() const noexcept { return context_.get_or_null(); }

  // -- Results of calls.
  void check(ze_result_t result, const char* call) {
    if (result != ZE_RESULT_SUCCESS) [[unlikely]]
      fail(result, call);
  }
  /// For calls that end things: silent when the device was lost before.
  void check_end(ze_result_t result, const char* call);
  /// Throws. A result that means so loses the device.
  [[noreturn]] void fail(ze_result_t result, const char* call);
  /// The same for a call that another device had a part in: finds out which of them is lost, if one is.
  [[noreturn]] void fail_with(ze_result_t result, const char* call, DeviceBase& other);

  // -- Loss.
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != ZE_RESULT_SUCCESS; }
  /// What it was lost with; success if it isn't.
  ze_result_t loss() const noexcept { return lost_.load(std::memory_order_acquire); }
  /// Throws BACKEND_FAILED if a device that has a part in a call of this one is lost: that is no loss of this one.
  void require_other(const DeviceBase& other);
  /// For good. The first result is kept.
  void lose(ze_result_t result) noexcept;
  /// Throws DEVICE_LOST if it is.
  void require() {
    if (lost()) [[unlikely]]
      fail(lost_.load(std::memory_order_relaxed), "the device failed earlier");
  }
  /// Asks the driver. Loses the device if it is.
  void check_health() noexcept;

 protected:
  ~DeviceBase() = default;
  /// Once, when it is lost: lets go of what waits for it.
  virtual void on_loss() noexcept = 0;

 private:
  const anyplace::backend::Host host_;
  Context& context_;
  const ze_device_handle_t native_;
  const std::int32_t index_;
  const Facts facts_;
  std::atomic<ze_result_t> lost_{ZE_RESULT_SUCCESS};
};

Facts read_facts(ze_device_handle_t device, const Context& context);
/// "8680a056-0800-0000-0300-000000000000", in the order of the driver's bytes.
std::string uuid_text(const ze_device_uuid_t& uuid);

}  // namespace anyplace::levelzero
