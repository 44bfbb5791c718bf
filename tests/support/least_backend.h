// SPDX-License-Identifier: Apache-2.0
//
// The least backend that works, derived from DeviceBackend: one device, whose memory is the host's and whose work is
// done when the call returns. Plugins of tests derive from it and override what they are about. Each object is
// allocated, so that a leak checker sees one that is never destroyed. least_table.h is the same in C.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <new>

namespace test {

class LeastBackend : public anyplace::backend::DeviceBackend {
 public:
  int32_t device_count() override { return 1; }
  void device_properties(int32_t, anyplace_device_properties& out) override {
    out.compute_units = 1;
    out.total_memory = ANYPLACE_UNKNOWN;
    out.address_alignment = alignment;
  }
  void device_memory(int32_t, anyplace_memory_info& out) override {
    out.free_bytes = ANYPLACE_UNKNOWN;
    out.total_bytes = ANYPLACE_UNKNOWN;
  }
  bool device_synchronize(int32_t, uint64_t) override { return true; }

  anyplace_stream stream_create(int32_t, const anyplace_stream_desc&) override { return make(); }
  anyplace_stream stream_default(int32_t device, const anyplace_stream_desc&) override {
    return anyplace::backend::to_handle(&null_streams_.at(static_cast<std::size_t>(device)));
  }
  void stream_destroy(anyplace_stream stream) override { destroy(stream); }
  bool stream_query(anyplace_stream) override { return true; }
  bool stream_synchronize(anyplace_stream, uint64_t) override { return true; }
  void stream_wait_event(anyplace_stream, anyplace_event) override {}

  anyplace_event event_create(int32_t, const anyplace_event_desc&) override { return make(); }
  void event_destroy(anyplace_event event) override { destroy(event); }
  void event_record(anyplace_event, anyplace_stream) override {}
  bool event_query(anyplace_event) override { return true; }
  bool event_synchronize(anyplace_event, uint64_t) override { return true; }

  anyplace_address memory_allocate(int32_t, uint32_t kind, uint64_t bytes) override {
    if (kind != ANYPLACE_MEMORY_DEVICE) {
      throw anyplace::backend::Failure(ANYPLACE_STATUS_UNSUPPORTED, "device memory only");
    }
    return anyplace::backend::to_handle(::operator new (bytes, std::align_val_t{alignment}));
  }
  void memory_free(int32_t, uint32_t, anyplace_address address) override {
    ::operator delete (anyplace::backend::from_handle<void>(address), std::align_val_t{alignment});
  }
  void memory_copy(anyplace_stream, anyplace_address destination, anyplace_address source, uint64_t bytes,
                   uint32_t) override {
    std::memcpy(anyplace::backend::from_handle<void>(destination), anyplace::backend::from_handle<void>(source), bytes);
  }
  void memory_set(anyplace_stream, anyplace_address address, uint32_t value, uint32_t width, uint64_t count) override {
    auto* const to = anyplace::backend::from_handle<unsigned char>(address);
    for (uint64_t i = 0; i < count * width; ++i) to[i] = static_cast<unsigned char>(value >> (8 * (i % width)));
  }

 protected:
  static constexpr std::uint64_t alignment = 256;

 private:
  static uint64_t make() { return anyplace::backend::to_handle(new char); }
  static void destroy(uint64_t handle) { delete anyplace::backend::from_handle<char>(handle); }

  std::array<char, 4> null_streams_{};  // no test's backend has more devices
};

}  // namespace test
