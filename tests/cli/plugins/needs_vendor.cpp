// SPDX-License-Identifier: Apache-2.0
// Refuses itself the way a real backend does on a machine without its vendor's driver.
#include "support/least_backend.h"

class NeedsVendor final : public test::LeastBackend {
 public:
  explicit NeedsVendor(anyplace::backend::Host) {
    throw anyplace::backend::Failure(ANYPLACE_STATUS_LIBRARY_MISSING, "libneeded.so.1: cannot open shared object file");
  }
};

ANYPLACE_EXPORT_BACKEND(NeedsVendor, "needs_vendor", "1.0", "Lacks its vendor's library")
