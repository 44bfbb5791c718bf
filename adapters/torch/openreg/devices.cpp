// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "place_list.h"
#include "runtime.h"

namespace openreg_anyplace {
namespace {

thread_local int current = 0;

/// Looked for once; a failure is met again at the next call. Never destroyed: the interface is used until the process
/// ends.
const std::vector<anyplace::Device>& devices() {
  static const auto& all = *[] {
    const char* variable = std::getenv("ANYPLACE_TORCH_PLACES");
    const std::string text = variable == nullptr ? "auto" : variable;
    std::vector<anyplace::Device> found;
    for (const std::string& entry : anyplace_adapters::entries_of(text)) {
      if (entry.empty()) continue;
      for (const anyplace::Device& device : anyplace_adapters::devices_of(entry)) found.push_back(device);
    }
    if (found.empty()) throw std::runtime_error("ANYPLACE_TORCH_PLACES names no place");
    return new std::vector<anyplace::Device>(std::move(found));
  }();
  return all;
}

}  // namespace

const anyplace::Device& device(int index) { return devices().at(static_cast<std::size_t>(index)); }

int device_count() { return static_cast<int>(devices().size()); }

int current_device() noexcept { return current; }

void tell(const char* what) noexcept {
  const char* variable = std::getenv("ANYPLACE_OPENREG_ERRORS");
  if (variable != nullptr && std::string_view(variable) == "1")
    std::fprintf(stderr, "openreg over anyplace: %s\n", what);
}

}  // namespace openreg_anyplace

using namespace openreg_anyplace;

orError_t orGetDeviceCount(int* count) {
  return guarded([&] {
    if (count == nullptr) return orErrorUnknown;
    *count = device_count();
    return orSuccess;
  });
}

orError_t orSetDevice(int index) {
  return guarded([&] {
    if (index < 0 || index >= device_count()) return orErrorUnknown;
    current = index;
    return orSuccess;
  });
}

orError_t orGetDevice(int* index) {
  if (index == nullptr) return orErrorUnknown;
  *index = current;
  return orSuccess;
}

orError_t orDeviceSynchronize() {
  return guarded([] {
    device(current).synchronize();
    return orSuccess;
  });
}
