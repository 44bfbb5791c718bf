// SPDX-License-Identifier: Apache-2.0
//
// HostThread: where a device's host functions run, one at a time, in the order in which their places in the streams
// came. Not on a thread of the driver's, which has commands to run, and never on one that waits in an entry. A host
// function that blocks holds up its stream and other host functions of the device, and nothing else.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "opencl.h"

namespace opencl_backend {

class Device;

class HostThread {
 public:
  explicit HostThread(const Device& device) : device_(device) {}

  /// A host function, and the user event that its stream waits for.
  struct Task {
    anyplace_host_function function = nullptr;
    void* user = nullptr;
    EventRef done;
  };
  /// A list of one: it is made where memory may run out, and is moved over where it may not.
  using Node = std::shared_ptr<std::list<Task>>;

  /// Starts the thread unless it runs. After it, push can't fail.
  void start();
  void push(const Node& task) noexcept;
  /// Ends the thread, after the tasks that were pushed.
  void stop();

 private:
  void run();

  const Device& device_;
  std::mutex mutex_;  // guards all below; a leaf
  std::condition_variable changed_;
  std::list<Task> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace opencl_backend
