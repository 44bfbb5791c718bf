// SPDX-License-Identifier: Apache-2.0
// Works, and has no device.
#include "support/least_backend.h"

class Deserted final : public test::LeastBackend {
 public:
  explicit Deserted(anyplace::backend::Host) {}
  int32_t device_count() override { return 0; }
};

ANYPLACE_EXPORT_BACKEND(Deserted, "deserted", "1.0", "Has no device")
