// SPDX-License-Identifier: Apache-2.0
// Writes to every descriptor that it finds open, which includes whatever a probe reports through.
#include <fcntl.h>
#include <unistd.h>

#include "support/least_backend.h"

class Scribbler final : public test::LeastBackend {
 public:
  explicit Scribbler(anyplace::backend::Host) {
    constexpr char nonsense[] = "{\"SCRIBBLE\n";
    for (int descriptor = 1; descriptor < 256; ++descriptor) {
      const int flags = fcntl(descriptor, F_GETFL);
      if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) continue;
      if (write(descriptor, nonsense, sizeof(nonsense) - 1) < 0) continue;
    }
  }
};

ANYPLACE_EXPORT_BACKEND(Scribbler, "scribbler", "1.0", "Writes to every descriptor")
