// SPDX-License-Identifier: Apache-2.0
//
// Device: one OpenCL device, with a context of its own that is made at the first use. One context a device, not one a
// platform: what one device does to its context is then no business of another's.
//
// A stream lives from its making until it was destroyed and its work is over: this is where that is seen to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deadline.h"
#include "host_thread.h"
#include "memory.h"
#include "null_rule.h"
#include "once.h"
#include "opencl.h"
#include "stream.h"

namespace opencl_backend {

class Device {
 public:
  Device(anyplace::backend::Host host, cl_device_id id);
  Device(const Device&) = delete;  // streams and events point at it
  Device& operator=(const Device&) = delete;

  const anyplace::backend::Host& host() const noexcept { return host_; }
  cl_device_id id() const noexcept { return id_; }
  NullRule& null_rule() noexcept { return null_rule_; }
  HostThread& host_thread() noexcept { return host_thread_; }
  Memory& memory() noexcept { return memory_; }
  /// Made at the first call. Throws DEVICE_LOST when the device is.
  const Context& context();

  /// A command failed while it ran. OpenCL leaves open what becomes of the context and all its queues then, so the
  /// device is lost, for good: nothing is submitted to it any more, and what it holds is left alone. Host
  /// functions that wait for their turn, and other devices' waits for this one, get theirs. Keeps the first `code`.
  void lose(cl_int code) noexcept;
  bool lost() const noexcept { return lost_code_.load(std::memory_order_acquire) != CL_SUCCESS; }
  [[noreturn]] void refuse_lost() const;

  /// Makes no context.
  void properties(anyplace_device_properties& out) const;
  bool has_managed_memory() const;
  bool has_priorities() const { return has_extension("cl_khr_priority_hints"); }
  /// The versions of SPIR-V that the driver takes ("SPIR-V_1.0 SPIR-V_1.2"), or "".
  std::string spirv_versions() const;
  /// clCreateProgramWithIL, or null where the device can't run SPIR-V as C++ compilers make it: the driver takes none,
  /// or the device has no generic pointers. Mesa's rusticl 25.0 has none, takes the image nevertheless, and ends the
  /// process when a kernel uses them.
  decltype(Api::CreateProgramWithIL) program_with_il() const;

  Stream& make_stream(const anyplace_stream_desc& desc, StreamKind kind);
  /// The queue stays the user's. Throws INVALID_ARGUMENT unless it is in order and of this device and context.
  Stream& adopt_stream(cl_command_queue queue, const anyplace_stream_desc& desc);
  /// Returns at once; the work goes on.
  void retire(Stream& stream);
  bool synchronize(const Deadline& deadline);

  /// Nanoseconds of both clocks: the device's when a marker ended, the host's steady one in the middle of waiting for
  /// it.
  struct ClockReading {
    std::int64_t device = 0;
    std::int64_t host = 0;
    std::int64_t took = 0;
  };
  ClockReading read_clock();
  /// What to add to this device's timestamps to have those of the host's steady clock, to within microseconds.
  std::int64_t clock_offset();
  /// Only after everything is over and nothing will be called any more.
  void close();

 private:
  struct Owned {
    std::shared_ptr<Stream> stream;
    bool retired = false;
  };

  Queue make_queue(std::int32_t priority);
  Stream& own(std::shared_ptr<Stream> stream);
  std::vector<std::shared_ptr<Stream>> streams();
  /// Lets go of retired streams whose work is over.
  void sweep();

  std::string text(cl_device_info what) const;
  template <class T>
  T value(cl_device_info what) const;
  bool has_extension(const std::string& name) const;
  bool has_generic_pointers() const;
  void add_facts(anyplace_device_properties& out) const;
  std::string uuid() const;
  std::string pci() const;

  const anyplace::backend::Host host_;
  const cl_device_id id_;
  std::atomic<cl_int> lost_code_{CL_SUCCESS};
  NullRule null_rule_;
  HostThread host_thread_{*this};
  Memory memory_;

  Once context_once_;
  Context context_;

  std::mutex streams_mutex_;  // guards streams_; taken before any mutex of a stream or of the null rule
  std::vector<Owned> streams_;
};

/// The devices that can be used, in an order that stays: platforms by name, a platform's devices as it lists them.
/// Those that can't be used are logged with the reason.
std::vector<std::unique_ptr<Device>> find_devices(const anyplace::backend::Host& host);

}  // namespace opencl_backend
