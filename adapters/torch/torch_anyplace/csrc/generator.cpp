// SPDX-License-Identifier: Apache-2.0
#include "generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "places.h"

namespace anyplace_torch {
namespace {

/// Its lock is the one that GeneratorImpl has; the CPU's generator has its own, which the CPU's operators take.
class GeneratorImpl final : public c10::GeneratorImpl {
 public:
  GeneratorImpl(c10::DeviceIndex index, at::Generator behind)
      : c10::GeneratorImpl(c10::Device(c10::DeviceType::PrivateUse1, index),
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        behind_(std::move(behind)) {}

  const at::Generator& behind() const { return behind_; }

  void set_current_seed(std::uint64_t seed) override { behind_.set_current_seed(seed); }
  void set_offset(std::uint64_t offset) override { behind_.set_offset(offset); }
  std::uint64_t get_offset() const override { return behind_.get_offset(); }
  std::uint64_t current_seed() const override { return behind_.current_seed(); }
  std::uint64_t seed() override { return behind_.seed(); }
  void set_state(const c10::TensorImpl& state) override { impl().set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return impl().get_state(); }

 private:
  c10::GeneratorImpl& impl() const { return *behind_.unsafeGetGeneratorImpl(); }
  GeneratorImpl* clone_impl() const override { return new GeneratorImpl(device_.index(), behind_.clone()); }

  mutable at::Generator behind_;
};

constexpr std::size_t kMostDevices = 128;  // as many as c10::DeviceIndex counts

}  // namespace

at::Generator new_generator(c10::DeviceIndex index) {
  place(index);
  return at::make_generator<GeneratorImpl>(index < 0 ? current_index() : index, at::detail::createCPUGenerator());
}

const at::Generator& default_generator(c10::DeviceIndex index) {
  static std::mutex lock;
  static auto& all = *new std::array<at::Generator, kMostDevices>;  // never destroyed: Python keeps references
  place(index);
  const c10::DeviceIndex at = index < 0 ? current_index() : index;
  const std::lock_guard guard(lock);
  at::Generator& generator = all[static_cast<std::size_t>(at)];
  if (!generator.defined()) {
    generator = new_generator(at);
    generator.seed();
  }
  return generator;
}

const at::Generator& cpu_generator_behind(const at::Generator& generator) {
  const auto* impl = dynamic_cast<const GeneratorImpl*>(generator.unsafeGetGeneratorImpl());
  TORCH_CHECK(impl != nullptr, "expected a generator of an anyplace device, and got one of ", generator.device());
  return impl->behind();
}

}  // namespace anyplace_torch
