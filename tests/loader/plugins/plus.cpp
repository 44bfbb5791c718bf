// SPDX-License-Identifier: Apache-2.0
//
// A backend derived from DeviceBackend: two devices whose memory is the host's and whose work is done when the call
// returns. PLUS_THROWS makes its constructor throw.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>

#include "anyplace/backend/device_backend.h"

namespace {

namespace backend = anyplace::backend;

struct Object {
  int device = 0;
};

class PlusBackend final : public backend::DeviceBackend {
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
    out.compute_units = 1;
    out.total_memory = ANYPLACE_UNKNOWN;
    out.address_alignment = 256;
    backend::set_text(out.name, "plus " + std::to_string(device));
    backend::set_text(out.uuid, "PLUS-" + std::to_string(device));
    backend::set_text(out.pci, "00000001:0B:00." + std::to_string(device));
  }
  void device_memory(int32_t, anyplace_memory_info& out) override {
    out.free_bytes = ANYPLACE_UNKNOWN;
    out.total_bytes = ANYPLACE_UNKNOWN;
  }
  bool device_synchronize(int32_t, uint64_t) override { return true; }

  anyplace_stream stream_create(int32_t device, const anyplace_stream_desc&) override { return make(device); }
  anyplace_stream stream_default(int32_t device, const anyplace_stream_desc&) override {
    return backend::to_handle(&null_streams_[device]);
  }
  void stream_destroy(anyplace_stream stream) override { destroy(stream); }
  bool stream_query(anyplace_stream) override { return true; }
  bool stream_synchronize(anyplace_stream, uint64_t) override { return true; }
  void stream_wait_event(anyplace_stream, anyplace_event) override {}

  anyplace_event event_create(int32_t device, const anyplace_event_desc&) override { return make(device); }
  void event_destroy(anyplace_event event) override { destroy(event); }
  void event_record(anyplace_event, anyplace_stream) override {}
  bool event_query(anyplace_event) override { return true; }
  bool event_synchronize(anyplace_event, uint64_t) override { return true; }

  anyplace_address memory_allocate(int32_t, uint32_t kind, uint64_t bytes) override {
    if (kind != ANYPLACE_MEMORY_DEVICE) throw backend::Failure(ANYPLACE_STATUS_UNSUPPORTED, "device memory only");
    return backend::to_handle(::operator new (bytes, std::align_val_t{256}));
  }
  void memory_free(int32_t, uint32_t, anyplace_address address) override {
    ::operator delete (backend::from_handle<void>(address), std::align_val_t{256});
  }
  void memory_copy(anyplace_stream, anyplace_address destination, anyplace_address source, uint64_t bytes,
                   uint32_t) override {
    std::memcpy(backend::from_handle<void>(destination), backend::from_handle<void>(source), bytes);
  }
  void memory_set(anyplace_stream, anyplace_address address, uint32_t value, uint32_t width, uint64_t count) override {
    auto* at = backend::from_handle<unsigned char>(address);
    for (uint64_t i = 0; i < count; ++i) {
      for (uint32_t byte = 0; byte < width; ++byte) *at++ = static_cast<unsigned char>(value >> (8 * byte));
    }
  }

 private:
  static uint64_t make(int32_t device) { return backend::to_handle(new Object{device}); }
  static void destroy(uint64_t handle) { delete backend::from_handle<Object>(handle); }

  Object null_streams_[2] = {{0}, {1}};
};

}  // namespace

ANYPLACE_EXPORT_BACKEND(PlusBackend, "plus", "2.0", "a backend written in C++, for the tests")
