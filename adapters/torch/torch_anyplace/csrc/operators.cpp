// SPDX-License-Identifier: Apache-2.0
//
// The operators that are about memory: making tensors, views of them, resizing, copying, filling. Everything else runs
// on the CPU (fallback.cpp).
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "copy.h"
#include "device_memory.h"
#include "hooks.h"
#include "places.h"
#include "transfers.h"

namespace anyplace_torch {
namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

c10::Device checked_device(std::optional<at::Device> device, std::optional<at::Layout> layout,
                           std::optional<bool> pinned) {
  const c10::Device result = c10::device_or_default(device);
  TORCH_CHECK(result.is_privateuseone(), "expected an anyplace device, and got ", result);
  TORCH_CHECK(c10::layout_or_default(layout) == at::kStrided, "tensors of an anyplace device are strided; ",
              c10::layout_or_default(layout), " isn't");
  TORCH_CHECK(!c10::pinned_memory_or_default(pinned), "only tensors of the CPU can be pinned");
  place(result.index());
  return result;
}

// -- Making tensors.

Tensor empty(IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
             std::optional<at::Device> device, std::optional<bool> pinned, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(checked_device(device, layout, pinned));
  return at::detail::empty_generic(size, device_allocator(), kKeys, c10::dtype_or_default(dtype), format);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout> layout, std::optional<at::Device> device, std::optional<bool> pinned) {
  const c10::DeviceGuard guard(checked_device(device, layout, pinned));
  return at::detail::empty_strided_generic(size, stride, device_allocator(), kKeys, c10::dtype_or_default(dtype));
}

// -- Their memory.

void make_room(const Tensor& self) {
  const auto* impl = self.unsafeGetTensorImpl();
  const std::size_t bytes = at::detail::computeStorageNbytes(impl->sizes(), impl->strides(), impl->itemsize(),
                                                             static_cast<std::size_t>(impl->storage_offset()));
  if (self.numel() > 0 && bytes > self.storage().nbytes()) resize_storage(self.storage(), bytes);
}

const Tensor& resize_(const Tensor& self, IntArrayRef size, std::optional<at::MemoryFormat> format) {
  TORCH_CHECK(format != at::MemoryFormat::Preserve, "resize_ can't preserve the memory format of what isn't there yet");
  auto* impl = self.unsafeGetTensorImpl();
  if (self.sizes() != size) impl->set_sizes_contiguous(size);
  if (format.has_value()) impl->empty_tensor_restride(*format);
  make_room(self);
  return self;
}

Tensor& set_storage_offset_(Tensor& self, at::Storage source, std::int64_t offset, IntArrayRef size,
                            IntArrayRef stride) {
  at::native::checkSetStorage(self, source, offset, size, stride);
  auto* impl = self.unsafeGetTensorImpl();
  if (stride.data() == nullptr) {
    impl->set_storage_offset(offset);
    impl->set_sizes_contiguous(size);
  } else {
    impl->set_sizes_and_strides(size, stride, offset);
  }
  make_room(self);
  return self;
}

Tensor& set_storage_(Tensor& self, at::Storage source) {
  const auto elements = static_cast<std::int64_t>(source.nbytes() / self.itemsize());
  return set_storage_offset_(self, std::move(source), 0, {elements}, {});
}

Tensor& set_tensor_(Tensor& self, const Tensor& source) {
  if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) return self;
  return set_storage_offset_(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

Tensor& set_nothing_(Tensor& self) {
  const Tensor none = at::empty({0}, self.options());
  return set_storage_offset_(self, none.storage(), 0, {0}, {});
}

void record_stream(Tensor& self, at::Stream stream) { record_on_stream(self.storage().data_ptr(), stream); }

// -- Copies and fills.

Tensor copy_from(const Tensor& self, const Tensor& destination, bool non_blocking) {
  copy_tensor(destination, self, non_blocking);
  return destination;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& destination) {
  if (destination.sizes() != self.sizes()) destination.resize_(self.sizes());
  copy_tensor(destination, self, false);
  return destination;
}

at::Scalar local_scalar_dense(const Tensor& self) {
  const Tensor host = at::empty({}, self.options().device(at::kCPU));
  copy_tensor(host, self.reshape({}), false);
  return at::_local_scalar_dense(host);
}

Tensor& fill_scalar_(Tensor& self, const at::Scalar& value) {
  if (self.numel() == 0) return self;
  const Tensor element = at::scalar_tensor(value, self.options().device(at::kCPU));
  if (!self.is_non_overlapping_and_dense() || self.is_conj() || self.is_neg()) {
    copy_tensor(self, element, false);
    return self;
  }
  fill(self.device().index(), self.mutable_data_ptr(), element.const_data_ptr(), self.itemsize(), self.nbytes());
  return self;
}

Tensor& fill_tensor_(Tensor& self, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ takes a value of no dimension, and this one has ", value.dim());
  copy_tensor(self, value, false);
  return self;
}

Tensor& zero_(Tensor& self) { return fill_scalar_(self, 0); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));

  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("unfold", TORCH_FN(at::native::unfold));
  m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));

  m.impl("resize_", TORCH_FN(resize_));
  m.impl("set_", TORCH_FN(set_nothing_));
  m.impl("set_.source_Tensor", TORCH_FN(set_tensor_));
  m.impl("set_.source_Storage", TORCH_FN(set_storage_));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_offset_));
  m.impl("is_set_to", TORCH_FN(at::native::is_set_to));
  m.impl("record_stream", TORCH_FN(record_stream));

  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
  m.impl("fill_.Scalar", TORCH_FN(fill_scalar_));
  m.impl("fill_.Tensor", TORCH_FN(fill_tensor_));
  m.impl("zero_", TORCH_FN(zero_));
}

// A tensor that is conjugated or negated in name alone comes as it is: torch would resolve it first, by a copy, which
// comes here, for good.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

}  // namespace
}  // namespace anyplace_torch
