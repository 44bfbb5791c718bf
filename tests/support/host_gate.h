// SPDX-License-Identifier: Apache-2.0
//
// HostGate: a host function that keeps a stream waiting until the test lets it go. With it a test decides what is
// pending instead of guessing from times. Block one stream at a time: host functions of a device may run one after the
// other.
#pragma once

#include <future>
#include <memory>

#include "anyplace/anyplace.h"

namespace test {

class HostGate {
 public:
  HostGate() = default;
  HostGate(const HostGate&) = delete;  // streams wait on it
  HostGate& operator=(const HostGate&) = delete;
  /// A test that fails half-way must not leave a stream blocked.
  ~HostGate() { open(); }

  /// What is submitted to `stream` from now on runs after open().
  void block(anyplace::StreamView stream) {
    stream.launch_host_func([state = state_] {
      state->reached.set_value();
      state->opened.get_future().wait();
    });
  }
  /// Returns when the stream has come to the gate.
  void wait_until_reached() { state_->reached.get_future().wait(); }
  void open() {
    if (!open_) state_->opened.set_value();
    open_ = true;
  }

 private:
  struct State {
    std::promise<void> reached;
    std::promise<void> opened;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  bool open_ = false;
};

}  // namespace test
