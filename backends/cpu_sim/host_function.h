// SPDX-License-Identifier: Apache-2.0
//
// A HostFunction is the command that has the device's HostThread call a function of the host.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <cstdint>

#include "command.h"
#include "host_thread.h"

namespace anyplace::cpu_sim {

class HostFunction final : public HostCommand, private HostWork {
 public:
  HostFunction(Stream& stream, backend::Host host, std::uint64_t cookie, anyplace_host_function function,
               void* user) noexcept
      : stream_(stream), host_(host), cookie_(cookie), function_(function), user_(user) {}

  Progress execute(Stream& stream) noexcept override;
  HostWork& work() noexcept override { return *this; }
  void describe(Operation& out) const override;

 private:
  HostWork* call() noexcept override;

  Stream& stream_;  // The command is in its queue.
  backend::Host host_;
  std::uint64_t cookie_;
  anyplace_host_function function_;
  void* user_;
};

}  // namespace anyplace::cpu_sim
