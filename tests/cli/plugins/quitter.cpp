// SPDX-License-Identifier: Apache-2.0
// Ends the process, with success, when it is entered.
#include <unistd.h>

#include "support/least_backend.h"

class Quitter final : public test::LeastBackend {
 public:
  explicit Quitter(anyplace::backend::Host) { _exit(0); }
};

ANYPLACE_EXPORT_BACKEND(Quitter, "quitter", "1.0", "Ends the process")
