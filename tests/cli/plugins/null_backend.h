// SPDX-License-Identifier: Apache-2.0
//
// A backend without anything in it, for plugins that misbehave in one way each: they override what they are about.
#pragma once

#include <anyplace/backend/device_backend.h>

namespace anyplace::test {

class NullBackend : public backend::DeviceBackend {
 public:
  int32_t device_count() override { return 0; }
  void device_properties(int32_t, anyplace_device_properties& out) override {
    out.total_memory = ANYPLACE_UNKNOWN;
    out.address_alignment = 256;
  }
  void device_memory(int32_t, anyplace_memory_info& out) override {
    out.free_bytes = ANYPLACE_UNKNOWN;
    out.total_bytes = ANYPLACE_UNKNOWN;
  }
  bool device_synchronize(int32_t, uint64_t) override { return true; }
  anyplace_stream stream_create(int32_t, const anyplace_stream_desc&) override { refuse(); }
  anyplace_stream stream_default(int32_t, const anyplace_stream_desc&) override { refuse(); }
  void stream_destroy(anyplace_stream) override {}
  bool stream_query(anyplace_stream) override { return true; }
  bool stream_synchronize(anyplace_stream, uint64_t) override { return true; }
  void stream_wait_event(anyplace_stream, anyplace_event) override {}
  anyplace_event event_create(int32_t, const anyplace_event_desc&) override { refuse(); }
  void event_destroy(anyplace_event) override {}
  void event_record(anyplace_event, anyplace_stream) override {}
  bool event_query(anyplace_event) override { return true; }
  bool event_synchronize(anyplace_event, uint64_t) override { return true; }
  anyplace_address memory_allocate(int32_t, uint32_t, uint64_t) override { refuse(); }
  void memory_free(int32_t, uint32_t, anyplace_address) override {}
  void memory_copy(anyplace_stream, anyplace_address, anyplace_address, uint64_t, uint32_t) override {}
  void memory_set(anyplace_stream, anyplace_address, uint32_t, uint32_t, uint64_t) override {}

 private:
  [[noreturn]] static void refuse() { throw backend::Failure(ANYPLACE_STATUS_UNSUPPORTED, "there is nothing here"); }
};

}  // namespace anyplace::test
