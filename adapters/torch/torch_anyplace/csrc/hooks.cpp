// SPDX-License-Identifier: Apache-2.0
//
// What torch asks a device of this kind (PrivateUse1) beside guards, memory and operators.
#include "hooks.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <anyplace/anyplace.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "device_memory.h"
#include "errors.h"
#include "generator.h"
#include "pinned_memory.h"
#include "streams.h"
#include "transfers.h"

namespace anyplace_torch {

void resize_storage(const c10::Storage& storage, std::size_t bytes) {
  const c10::DeviceIndex index = storage.device().index();
  const c10::DeviceGuard guard(storage.device());
  c10::DataPtr memory = device_allocator()->allocate(bytes);
  const std::size_t kept = std::min(bytes, storage.nbytes());
  if (kept > 0 && storage.data() != nullptr) {
    // The old memory goes when this returns, and may be of another stream's.
    record_on_stream(storage.data_ptr(), stream_of(index, current_view(index)));
    copy_device_to_device({current_view(index), index, index}, memory.get(), storage.data(), Rows::flat(kept));
  }
  storage.set_data_ptr_noswap(std::move(memory));
  storage.set_nbytes(bytes);
}

namespace {

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  void init() const override { places(); }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return place_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex index) const override { return index < place_count(); }

  c10::DeviceIndex deviceCount() const override { return place_count(); }
  c10::DeviceIndex getCurrentDevice() const override { return current_index(); }
  void setCurrentDevice(c10::DeviceIndex index) const override { exchangeDevice(index); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    place(index);
    return exchange_index(index);
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? current_index() : exchangeDevice(index);
  }

  at::Device getDeviceFromPtr(void* address) const override {
    const auto known = call([&] { return anyplace::pointer_attributes(address); });
    const auto& all = places();
    for (std::size_t index = 0; known.device && index < all.size(); ++index) {
      if (all[index].device == *known.device) {
        return at::Device(at::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(index));
      }
    }
    TORCH_CHECK(false, "the address ", address, " is not in the memory of an anyplace device that torch has");
  }
  bool isPinnedPtr(const void* address) const override { return is_pinned(address); }
  at::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override { return default_generator(index); }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override { return new_generator(index); }

  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    resize_storage(storage, bytes);
  }
};

[[maybe_unused]] const bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace
}  // namespace anyplace_torch
