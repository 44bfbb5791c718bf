// SPDX-License-Identifier: Apache-2.0
// The list of accepted backends, and the end of their layers.
#include "runtime/backend.h"

#include <algorithm>

#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

struct Accepted {
  std::mutex mutex;  // guards backends; a leaf
  std::vector<Backend*> backends;
};
NoDestructor<Accepted> accepted;

}  // namespace

void add_accepted(Backend& backend) {
  const std::lock_guard lock(accepted.value.mutex);
  accepted.value.backends.push_back(&backend);
}

void end_layers(const Backend& backend) noexcept {
  for (const auto& layer : backend.layers) {
    if (layer->end != nullptr) layer->end(layer->instance);
  }
}

std::vector<Backend*> accepted_backends() {
  std::vector<Backend*> backends;
  {
    const std::lock_guard lock(accepted.value.mutex);
    backends = accepted.value.backends;
  }
  std::sort(backends.begin(), backends.end(), [](const Backend* a, const Backend* b) { return a->name < b->name; });
  return backends;
}

}  // namespace anyplace::detail
