// SPDX-License-Identifier: Apache-2.0
//
// Watcher: runs an action, once, when a command is over, whether it completed or failed.
//
// OpenCL's callback does it, on a thread of the driver's; so an action only hands on: it opens a user event or queues a
// host function. Drivers are not to be relied on for a callback when a command fails (PoCL 3.1 makes none), and what
// waits for the action would wait for ever: so a thread looks, a few times a second, while there is something to watch.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "opencl.h"

namespace opencl_backend {

class Device;

class Watcher {
 public:
  /// There is one: OpenCL's callback has room for one pointer, which is the watch's number. Never destroyed.
  static Watcher& instance();

  /// For an event of `device`, which is lost if its command failed. `action` doesn't throw, doesn't block and takes no
  /// lock but a leaf. It may run within this call. If this throws, it never runs.
  void watch(Device& device, const EventRef& event, std::function<void()> action);

  /// Runs all actions of a device that was lost: its commands may never be over.
  void give_up(const Device& device) noexcept;

  /// Ends the thread. Only when nothing is watched any more.
  void stop();

 private:
  struct Watch {
    Device* device = nullptr;
    EventRef event;
    std::function<void()> action;
  };

  static void CL_CALLBACK on_event(cl_event event, cl_int status, void* number) noexcept;
  void look_while_watching();
  struct End {
    std::uint64_t number = 0;
    cl_int status = CL_COMPLETE;
  };
  std::vector<End> ends() const;
  /// Takes the watch out, so that only one of those who see the end runs it.
  void run(std::uint64_t number, cl_int status) noexcept;

  mutable std::mutex mutex_;  // guards all below; a leaf: no OpenCL call that can call back is made under it
  std::condition_variable changed_;
  std::unordered_map<std::uint64_t, Watch> watches_;
  std::uint64_t last_number_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace opencl_backend
