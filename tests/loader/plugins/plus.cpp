// SPDX-License-Identifier: Apache-2.0
//
// A backend derived from DeviceBackend: the least one, with two devices. PLUS_THROWS makes its constructor throw.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/least_backend.h"

namespace {

namespace backend = anyplace::backend;

class PlusBackend final : public test::LeastBackend {
 public:
  explicit PlusBackend(backend::Host) {
    const char* const variable = std::getenv("PLUS_THROWS");
    const std::string_view what = variable == nullptr ? "" : variable;
    if (what == "exception") throw std::runtime_error("plus has no heart for it");
    if (what == "number") throw 42;
    if (what == "failure") {
      throw backend::Failure(ANYPLACE_STATUS_LIBRARY_MISSING, "libplus.so.1 is not installed", 7, "PLUS_MISSING");
    }
  }

  int32_t device_count() override { return 2; }
  void device_properties(int32_t device, anyplace_device_properties& out) override {
    LeastBackend::device_properties(device, out);
    backend::set_text(out.name, "plus " + std::to_string(device));
    backend::set_text(out.uuid, "PLUS-" + std::to_string(device));
    backend::set_text(out.pci, "00000001:0B:00." + std::to_string(device));
  }
};

}  // namespace

ANYPLACE_EXPORT_BACKEND(PlusBackend, "plus", "2.0", "a backend written in C++, for the tests")
