// SPDX-License-Identifier: Apache-2.0
//
// The backend "fragile": runs nothing, and watches how its handles are used (fragile.h). A handle is never reused, and
// what it leads to is never freed, so that a use after the end is counted and not a crash.
#include "fragile.h"

#include <deque>

#include "support/least_backend.h"

namespace {

using anyplace::backend::from_handle;
using anyplace::backend::to_handle;

struct Object {
  std::atomic<int> users{0};
  std::atomic<bool> alive{true};
};

class FragileBackend final : public test::LeastBackend {
 public:
  explicit FragileBackend(anyplace::backend::Host) {
    const char* const address = std::getenv(test::Fragile::variable);
    if (address == nullptr) throw anyplace::backend::Failure(ANYPLACE_STATUS_NO_DRIVER, "no test has asked for it");
    control_ = reinterpret_cast<test::Fragile*>(static_cast<std::uintptr_t>(std::strtoull(address, nullptr, 10)));
  }

  int32_t device_count() override { return 2; }
  void device_properties(int32_t device, anyplace_device_properties& out) override {
    LeastBackend::device_properties(device, out);
    anyplace::backend::set_text(out.name, "Fragile");
    out.capabilities = uint64_t{1} << ANYPLACE_CAPABILITY_BIT_MODULES;
    out.image_formats = uint64_t{1} << ANYPLACE_IMAGE_PTX;
    for (int i = 0; i < 3; ++i) out.max_grid[i] = out.max_block[i] = 64;
    out.max_threads_per_block = 64;
  }

  anyplace_stream stream_create(int32_t, const anyplace_stream_desc&) override { return make(); }
  anyplace_stream stream_default(int32_t, const anyplace_stream_desc&) override { return make(); }
  void stream_destroy(anyplace_stream stream) override { end(stream); }
  bool stream_query(anyplace_stream stream) override {
    use(stream, stream);
    return true;
  }
  bool stream_synchronize(anyplace_stream stream, uint64_t) override {
    use(stream, stream);
    return true;
  }
  void stream_wait_event(anyplace_stream stream, anyplace_event event) override { use(stream, event); }

  anyplace_event event_create(int32_t, const anyplace_event_desc&) override { return make(); }
  void event_destroy(anyplace_event event) override { end(event); }
  void event_record(anyplace_event event, anyplace_stream stream) override { use(event, stream); }
  bool event_query(anyplace_event event) override {
    use(event, event);
    return true;
  }
  bool event_synchronize(anyplace_event event, uint64_t) override {
    use(event, event);
    return true;
  }

  anyplace_address memory_allocate(int32_t, uint32_t, uint64_t) override {
    throw anyplace::backend::Failure(ANYPLACE_STATUS_OUT_OF_MEMORY, "there is none");
  }

  anyplace_module module_load(int32_t, const anyplace_module_desc&) override { return make(); }
  void module_unload(anyplace_module module) override { end(module); }
  anyplace_kernel module_kernel(anyplace_module module, const char*) override { return module; }
  void kernel_launch(anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch&) override {
    use(stream, kernel);
  }

 private:
  uint64_t make() {
    const std::lock_guard lock(mutex_);
    return to_handle(&objects_.emplace_back());
  }
  void use(uint64_t one, uint64_t two) {
    Object& first = *from_handle<Object>(one);
    Object& second = *from_handle<Object>(two);
    ++first.users;
    ++second.users;
    if (!first.alive || !second.alive) ++control_->misused;
    control_->maybe_stop();
    if (!first.alive || !second.alive) ++control_->misused;
    --first.users;
    --second.users;
  }
  void end(uint64_t handle) {
    Object& object = *from_handle<Object>(handle);
    if (!object.alive.exchange(false) || object.users != 0) ++control_->misused;
    control_->count_destroyed();
  }

  test::Fragile* control_ = nullptr;
  std::mutex mutex_;  // guards objects_
  std::deque<Object> objects_;
};

}  // namespace

ANYPLACE_EXPORT_BACKEND(FragileBackend, "fragile", "1.0", "Watches how its handles are used")
