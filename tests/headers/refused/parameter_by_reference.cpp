// SPDX-License-Identifier: Apache-2.0
// A callable that would change its copy of an argument.
#include <anyplace/anyplace.h>

anyplace::Kernel parameter_by_reference(const anyplace::Device& device) {
  return anyplace::Kernel(device, [](const anyplace::Block&, float& sum) { sum += 1; });
}
