// SPDX-License-Identifier: Apache-2.0
#include <anyplace/backend/device_backend.h>

#include <cstdlib>
#include <mutex>

// One device whose memory is the host's and whose work is done before each call returns.
class Toy final : public anyplace::backend::DeviceBackend {
 public:
  explicit Toy(anyplace::backend::Host) {}  // throw anyplace::backend::Failure to refuse, with the reason

  int32_t device_count() override { return 1; }
  void device_properties(int32_t, anyplace_device_properties& out) override {
    anyplace::backend::set_text(out.name, "Toy");
    out.total_memory = ANYPLACE_UNKNOWN;
    out.address_alignment = 256;
  }
  void device_memory(int32_t, anyplace_memory_info& out) override {
    out.free_bytes = out.total_bytes = ANYPLACE_UNKNOWN;
  }
  bool device_synchronize(int32_t, uint64_t) override { return true; }

  anyplace_stream stream_create(int32_t, const anyplace_stream_desc& desc) override { return desc.cookie; }
  anyplace_stream stream_default(int32_t, const anyplace_stream_desc& desc) override { return desc.cookie; }
  void stream_destroy(anyplace_stream) override {}
  bool stream_query(anyplace_stream) override { return true; }
  bool stream_synchronize(anyplace_stream, uint64_t) override { return true; }
  void stream_wait_event(anyplace_stream, anyplace_event) override {}

  anyplace_event event_create(int32_t, const anyplace_event_desc&) override { return 1; }
  void event_destroy(anyplace_event) override {}
  void event_record(anyplace_event, anyplace_stream) override {}
  bool event_query(anyplace_event) override { return true; }
  bool event_synchronize(anyplace_event, uint64_t) override { return true; }

  anyplace_address memory_allocate(int32_t, uint32_t kind, uint64_t bytes) override {
    if (kind != ANYPLACE_MEMORY_DEVICE) throw anyplace::backend::Failure(ANYPLACE_STATUS_UNSUPPORTED, "no such kind");
    void* const memory = bytes > SIZE_MAX - 255 ? nullptr : std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (memory == nullptr) throw anyplace::backend::Failure(ANYPLACE_STATUS_OUT_OF_MEMORY, "the host has no more");
    return anyplace::backend::to_handle(memory);
  }
  void memory_free(int32_t, uint32_t, anyplace_address address) override {
    std::free(anyplace::backend::from_handle<void>(address));
  }
  void memory_copy(anyplace_stream, anyplace_address to, anyplace_address from, uint64_t bytes, uint32_t) override {
    const std::lock_guard lock(mutex_);
    std::memcpy(anyplace::backend::from_handle<void>(to), anyplace::backend::from_handle<void>(from), bytes);
  }
  void memory_set(anyplace_stream, anyplace_address address, uint32_t value, uint32_t width, uint64_t count) override {
    const std::lock_guard lock(mutex_);
    auto* const bytes = anyplace::backend::from_handle<unsigned char>(address);
    for (uint64_t i = 0; i < count * width; ++i) bytes[i] = static_cast<unsigned char>(value >> (i % width * 8));
  }

 private:
  std::mutex mutex_;  // threads may share a stream, whose work never overlaps: one piece of work at a time
};

ANYPLACE_EXPORT_BACKEND(Toy, "toy", "1.0.0", "The least that a backend can be")
