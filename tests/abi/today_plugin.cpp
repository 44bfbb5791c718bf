// SPDX-License-Identifier: Apache-2.0
//
// A plugin that derives from today's DeviceBackend. Like tiny_backend.h it works at once, on host memory.
#include <anyplace/backend/device_backend.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using anyplace::backend::Failure;
using anyplace::backend::from_handle;
using anyplace::backend::to_handle;

class TodayBackend final : public anyplace::backend::DeviceBackend {
 public:
  explicit TodayBackend(anyplace::backend::Host) {}

  int32_t device_count() override { return 1; }
  void device_properties(int32_t, anyplace_device_properties& out) override {
    out.compute_units = 1;
    out.total_memory = std::uint64_t{64} << 20;
    out.address_alignment = alignment;
    anyplace::backend::set_text(out.name, "today");
    anyplace::backend::set_text(out.vendor, "anyplace tests");
  }
  void device_memory(int32_t, anyplace_memory_info& out) override {
    out.free_bytes = ANYPLACE_UNKNOWN;
    out.total_bytes = std::uint64_t{64} << 20;
  }
  bool device_synchronize(int32_t, uint64_t) override { return true; }

  anyplace_stream stream_create(int32_t, const anyplace_stream_desc&) override { return to_handle(new char); }
  anyplace_stream stream_default(int32_t, const anyplace_stream_desc&) override { return to_handle(&default_stream_); }
  void stream_destroy(anyplace_stream stream) override { delete from_handle<char>(stream); }
  bool stream_query(anyplace_stream) override { return true; }
  bool stream_synchronize(anyplace_stream, uint64_t) override { return true; }
  void stream_wait_event(anyplace_stream, anyplace_event) override {}

  anyplace_event event_create(int32_t, const anyplace_event_desc&) override { return to_handle(new char); }
  void event_destroy(anyplace_event event) override { delete from_handle<char>(event); }
  void event_record(anyplace_event, anyplace_stream) override {}
  bool event_query(anyplace_event) override { return true; }
  bool event_synchronize(anyplace_event, uint64_t) override { return true; }

  anyplace_address memory_allocate(int32_t, uint32_t kind, uint64_t bytes) override {
    if (kind != ANYPLACE_MEMORY_DEVICE) {
      throw Failure(ANYPLACE_STATUS_UNSUPPORTED, "tiny has device memory only", 7, "TINY_NO_KIND");
    }
    if (bytes > std::uint64_t{32} << 20)
      throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY, "tiny gives 32 MiB at once", 8, "TINY_FULL");
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return to_handle(memory);
  }
  void memory_free(int32_t, uint32_t, anyplace_address address) override { std::free(from_handle<void>(address)); }
  void memory_copy(anyplace_stream, anyplace_address destination, anyplace_address source, uint64_t bytes,
                   uint32_t) override {
    std::memcpy(from_handle<void>(destination), from_handle<void>(source), bytes);
  }
  void memory_set(anyplace_stream, anyplace_address address, uint32_t value, uint32_t width, uint64_t count) override {
    auto* to = from_handle<unsigned char>(address);
    for (uint64_t i = 0; i < count * width; ++i) to[i] = static_cast<unsigned char>(value >> (8 * (i % width)));
  }

 private:
  static constexpr std::uint64_t alignment = 256;
  char default_stream_ = 0;
};

}  // namespace

ANYPLACE_EXPORT_BACKEND(TodayBackend, "abi_today_cpp", "1.0", "a test of the plugin boundary")
