// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime.h"

namespace openreg_anyplace {
namespace {

thread_local int current = 0;

void add(std::vector<anyplace::Device>& all, std::string_view entry) {
  const anyplace::Place place(entry);
  using Kind = anyplace::Place::Kind;
  if (place.kind() == Kind::automatic || place.kind() == Kind::current) {
    const auto backend = place.kind() == Kind::current ? place.backend() : anyplace::Device(place).backend();
    for (const anyplace::Device& device : anyplace::devices(backend)) all.push_back(device);
  } else {
    all.push_back(anyplace::Device(place));
  }
}

/// Looked for once; a failure is met again at the next call. Never destroyed: the interface is used until the process
/// ends.
const std::vector<anyplace::Device>& devices() {
  static const auto& all = *[] {
    const char* variable = std::getenv("ANYPLACE_TORCH_PLACES");
    const std::string text = variable == nullptr ? "auto" : variable;
    std::vector<anyplace::Device> found;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (end > begin) add(found, std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
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
