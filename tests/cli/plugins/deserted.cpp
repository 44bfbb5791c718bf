// SPDX-License-Identifier: Apache-2.0
// Works, and has no device.
#include "null_backend.h"

class Deserted final : public anyplace::test::NullBackend {
 public:
  explicit Deserted(anyplace::backend::Host) {}
};

ANYPLACE_EXPORT_BACKEND(Deserted, "deserted", "1.0", "Has no device")
