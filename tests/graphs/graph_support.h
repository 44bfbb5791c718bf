// SPDX-License-Identifier: Apache-2.0
// The two kinds of devices that graphs are tested on, and a buffer of numbers whose history shows an order.
#pragma once

#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/host_gate.h"

namespace test {

/// A case runs once on each: one launches graphs as one, for the other the core submits the nodes.
inline anyplace::Device graph_device() {
  return anyplace::Device(GENERATE(as<std::string>{}, "cpu_sim:0", "replayed:0"));
}

/// x = x * factor + term: what comes out says in which order such steps ran.
inline anyplace::Kernel step_kernel(const anyplace::Device& device) {
  return anyplace::Kernel(device, [](const anyplace::Block&, std::uint64_t* x, std::uint64_t factor,
                                     std::uint64_t term) { *x = *x * factor + term; });
}

/// One number of the device's.
struct Number {
  explicit Number(const anyplace::Device& device, std::uint64_t value = 0) : stream(device), buffer(stream, 8) {
    set(value);
  }
  void set(std::uint64_t value) const {
    stream.copy(buffer, anyplace::ConstHostSpan(&value, 8));
    stream.synchronize();
  }
  std::uint64_t get() const {
    std::uint64_t value = 0;
    stream.copy(anyplace::HostSpan(&value, 8), buffer);
    stream.synchronize();
    return value;
  }

  anyplace::Stream stream;
  anyplace::Buffer buffer;
};

}  // namespace test
