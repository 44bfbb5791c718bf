// SPDX-License-Identifier: Apache-2.0
// Writes a lot to standard output and error, and works. Its texts hold what no terminal and no JSON should get.
#include <cstdio>

#include "support/least_backend.h"

class Chatterbox final : public test::LeastBackend {
 public:
  explicit Chatterbox(anyplace::backend::Host) {
    for (int line = 0; line < 20000; ++line) {
      std::puts("CHATTER on standard output");
      std::fputs("CHATTER on standard error\n", stderr);
    }
    std::fflush(nullptr);
  }
  int32_t device_count() override { return 2; }
  void device_properties(int32_t device, anyplace_device_properties& out) override {
    if (device == 1) throw anyplace::backend::Failure(ANYPLACE_STATUS_BACKEND_FAILED, "won't say");
    LeastBackend::device_properties(device, out);
    anyplace::backend::set_text(out.name, "\x1b[31mred\xff\xfe\nline");
  }
};

ANYPLACE_EXPORT_BACKEND(Chatterbox, "chatterbox", "1.0", "Writes to standard output")
