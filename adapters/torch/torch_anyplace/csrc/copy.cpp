// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <ATen/ops/empty_strided.h>

#include <vector>

#include "copy_plan.h"
#include "errors.h"
#include "pinned_memory.h"
#include "streams.h"
#include "transfers.h"

namespace anyplace_torch {
namespace {

const char* bytes_of(const at::Tensor& tensor) { return static_cast<const char*>(tensor.const_data_ptr()); }
char* bytes_to(const at::Tensor& tensor) { return static_cast<char*>(tensor.mutable_data_ptr()); }

/// Elements from the first to the last in memory.
std::int64_t span_of(const at::Tensor& tensor) {
  std::int64_t span = 1;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) span += (tensor.size(d) - 1) * tensor.stride(d);
  return span;
}

at::Tensor host_like(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides) {
  at::Tensor host = at::empty_strided(sizes, strides, tensor.options().device(at::kCPU).pinned_memory(false));
  host._set_conj(tensor.is_conj());
  host._set_neg(tensor.is_neg());
  return host;
}

std::vector<std::int64_t> contiguous_strides(at::IntArrayRef sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

/// The memory from the tensor's first element to its last, gaps included, as a host tensor of the same strides.
at::Tensor download_span(const at::Tensor& tensor) {
  const std::int64_t span = span_of(tensor);
  const at::Tensor memory = host_like(tensor, {span}, {1});
  download(tensor.device().index(), bytes_to(memory), bytes_of(tensor), Rows::flat(span * tensor.itemsize()), true);
  return memory.as_strided(tensor.sizes(), tensor.strides(), 0);
}

/// The tensor's elements on the host.
at::Tensor to_host(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  const bool dense = tensor.is_non_overlapping_and_dense();
  const std::vector<std::int64_t> packed = contiguous_strides(tensor.sizes());
  const at::Tensor host = host_like(tensor, tensor.sizes(), dense ? tensor.strides() : at::IntArrayRef(packed));
  const auto steps = plan_copy(host, tensor);
  if (steps.empty()) return download_span(tensor);
  for (const CopyStep& step : steps) {
    download(tensor.device().index(), bytes_to(host) + step.destination, bytes_of(tensor) + step.source, step.rows,
             &step == &steps.back());
  }
  return host;
}

/// Both sides have the same type and the plan's steps.
void copy_by_plan(const at::Tensor& destination, const at::Tensor& source, const std::vector<CopyStep>& steps,
                  bool non_blocking) {
  if (!destination.is_cpu() && !source.is_cpu()) {
    const c10::DeviceIndex to = destination.device().index(), from = source.device().index();
    const anyplace::StreamView stream = current_view(from);
    // The memory on the other side is used in the order of its own current stream.
    if (to != from) call([&] { stream.wait_stream(current_view(to)); });
    for (const CopyStep& step : steps) {
      copy_device_to_device({stream, to, from}, bytes_to(destination) + step.destination,
                            bytes_of(source) + step.source, step.rows);
    }
    if (to != from) call([&] { current_view(to).wait_stream(stream); });
    return;
  }
  const void* host = source.is_cpu() ? source.const_data_ptr() : destination.const_data_ptr();
  const c10::DeviceIndex index = (source.is_cpu() ? destination : source).device().index();
  const bool wait = !non_blocking || !is_pinned_for(host, index);
  for (const CopyStep& step : steps) {
    char* to = bytes_to(destination) + step.destination;
    const char* from = bytes_of(source) + step.source;
    if (source.is_cpu()) {
      upload(index, to, from, step.rows, wait);
    } else {
      download(index, to, from, step.rows, wait && &step == &steps.back());
    }
  }
}

/// Elements are looked at: on the host, between a copy there and one back.
void copy_by_host(const at::Tensor& destination, const at::Tensor& source) {
  const at::Tensor from = to_host(source);
  if (destination.is_cpu()) {
    destination.copy_(from);
    return;
  }
  const bool dense = destination.is_non_overlapping_and_dense();
  // What lies in the gaps of the destination is written back as it was.
  const at::Tensor changed =
      dense ? host_like(destination, destination.sizes(), destination.strides()) : download_span(destination);
  changed.copy_(from);
  upload(destination.device().index(), bytes_to(destination), bytes_of(changed),
         Rows::flat(span_of(destination) * destination.itemsize()), true);
}

}  // namespace

void copy_tensor(const at::Tensor& destination, const at::Tensor& source, bool non_blocking) {
  TORCH_CHECK(destination.defined() && source.defined(), "a copy needs two tensors");
  TORCH_CHECK(destination.layout() == at::kStrided && source.layout() == at::kStrided,
              "copies from and to an anyplace device are of strided tensors; these are ", source.layout(), " and ",
              destination.layout());
  if (destination.numel() == 0 || destination.is_same(source)) return;
  const at::Tensor from = source.sizes() == destination.sizes() ? source : source.expand(destination.sizes());
  const auto steps = plan_copy(destination, from);
  if (steps.empty()) {
    copy_by_host(destination, from);
  } else {
    copy_by_plan(destination, from, steps, non_blocking);
  }
}

}  // namespace anyplace_torch
