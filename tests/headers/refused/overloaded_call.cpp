// SPDX-License-Identifier: Apache-2.0
// A callable with two call operators.
#include <anyplace/anyplace.h>

struct Overloaded {
  void operator()(const anyplace::Block&, float*) const {}
  void operator()(const anyplace::Block&, int*) const {}
};
anyplace::Kernel overloaded_call(const anyplace::Device& device) { return anyplace::Kernel(device, Overloaded()); }
