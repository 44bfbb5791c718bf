// SPDX-License-Identifier: Apache-2.0
//
// reduce_add() adds all inputs in one pass on the destination. Where kernels run on the host's threads, they read the
// memory of every device of the backend, wherever it is. Elsewhere what isn't on the destination is copied there
// before, because peer access, where there is any, needn't cover memory of pools. If the destination takes no image of
// the kernels, the host adds (add_on_host).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "anyplace/access.h"
#include "anyplace/comm.h"
#include "comm/checks.h"
#include "comm/device_kernels.h"
#include "comm/sums.h"
#include "comm/transfers.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"

namespace anyplace::comm {
namespace {

using namespace detail;

constexpr const char* reduce_operation = "comm::reduce_add";

constexpr bool is_complex(DType dtype) noexcept { return dtype == DType::c64 || dtype == DType::c128; }

/// Says how many elements a kernel adds: a complex number is two.
std::uint64_t units_of(const ArrayView& array) noexcept {
  return static_cast<std::uint64_t>(array.size()) * (is_complex(array.dtype()) ? 2 : 1);
}

// ---- On the device -------------------------------------------------------------------------------------------------

/// Whether a kernel on `to` may follow addresses of `from`'s memory.
bool reads_directly(const Device& to, const Device& from) {
  if (to == from) return true;
  const bool one_memory = to.backend() == from.backend() && to.has(Capability::host_kernels) &&
                          to.has(Capability::peer_access) && to.can_access_peer(from);
  if (one_memory) to.enable_peer_access(from);
  return one_memory;
}

/// Gives the input as the kernel reads it: contiguous, and where it can be read in the order of `stream`.
Array bring(const Array& input, const Device& destination, const StreamView& stream) {
  const StreamView own = current_stream_of_array(input);
  if (reads_directly(destination, input.device())) {
    Array there = contiguous(input, own);
    order(stream, own);
    return there;
  }
  Array copied(stream, input.dtype(), input.shape());
  transfer_from({copied, stream}, {input, own});
  return copied;
}

using Pointer = const std::byte*;

Pointer pointer_of(const ArrayView& array) {
  return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(array.address().value()));
}

void launch_pass(const StreamView& stream, KernelView kernel, const LaunchConfig& shape, const Array& result,
                 const std::array<Pointer, sums::most_inputs>& in, std::uint32_t count) {
  const std::uint64_t units = units_of(result);
  constexpr std::uint64_t pack = 16;
  std::uintptr_t all = reinterpret_cast<std::uintptr_t>(pointer_of(result));
  for (const Pointer each : in) all |= reinterpret_cast<std::uintptr_t>(each);
  const std::uint64_t packs = all % pack == 0 ? result.size_bytes() / pack : 0;
  const std::uint64_t bytes = result.size_bytes();
  const auto read = [&](std::size_t i) { return anyplace::in(in[i], bytes); };
  stream.launch(kernel, shape, anyplace::out(const_cast<std::byte*>(pointer_of(result)), bytes), read(0), read(1),
                read(2), read(3), read(4), read(5), read(6), read(7), units, packs, count);
}

void add_on_device(const StreamView& stream, KernelView kernel, const Device& destination, const Array& result,
                   const std::vector<Array>& inputs) {
  std::vector<Array> near;
  for (const Array& input : inputs) near.push_back(bring(input, destination, stream));
  const LaunchConfig shape = sum_shape(*destination.state(), result.size_bytes(), reduce_operation);
  std::size_t next = 0;
  while (next < near.size()) {
    std::array<Pointer, sums::most_inputs> in{};
    std::uint32_t count = 0;
    if (next != 0) in[count++] = pointer_of(result);  // this is the sum so far
    while (count < in.size() && next < near.size()) in[count++] = pointer_of(near[next++]);
    launch_pass(stream, kernel, shape, result, in, count);
  }
  // Inputs that were read in place may be written again, or be freed, in the order of their own streams.
  for (const Array& input : inputs) order(current_stream_of_array(input), stream);
}

// ---- On the host ---------------------------------------------------------------------------------------------------

template <class Sum>
void add_plain(const std::vector<Array>& arrays) {
  using Element = typename Sum::Element;
  const auto elements = [](const Array& array) {
    return reinterpret_cast<Element*>(static_cast<std::uintptr_t>(array.address().value()));
  };
  Element* const out = elements(arrays.front());
  std::size_t next = 0;
  while (next < arrays.size()) {
    const Element* in[sums::most_inputs] = {};
    std::uint32_t count = 0;
    if (next != 0) in[count++] = out;
    while (count < sums::most_inputs && next < arrays.size()) in[count++] = elements(arrays[next++]);
    sums::add_range<Sum>(out, in, count, 0, units_of(arrays.front()));
  }
}

/// Adds arrays of the host into the first of them.
void add_arrays(const std::vector<Array>& arrays) {
  switch (arrays.front().dtype()) {
    case DType::f16:
      return add_plain<sums::Rounded<backend::Binary16>>(arrays);
    case DType::bf16:
      return add_plain<sums::Rounded<backend::Bfloat16>>(arrays);
    case DType::f32:
    case DType::c64:
      return add_plain<sums::Plain<float>>(arrays);
    case DType::f64:
    case DType::c128:
      return add_plain<sums::Plain<double>>(arrays);
    case DType::i8:
    case DType::u8:
      return add_plain<sums::Plain<std::uint8_t>>(arrays);
    case DType::i16:
    case DType::u16:
      return add_plain<sums::Plain<std::uint16_t>>(arrays);
    case DType::i32:
    case DType::u32:
      return add_plain<sums::Plain<std::uint32_t>>(arrays);
    case DType::i64:
    case DType::u64:
      return add_plain<sums::Plain<std::uint64_t>>(arrays);
    case DType::boolean:
      return add_plain<sums::Boolean>(arrays);
  }
}

/// Adds in memory of the host, on a thread of the runtime's. Where the device has no host functions, or might read
/// memory of the host before it is written, the calling thread waits and adds.
void add_on_host(const StreamView& stream, const Device& destination, const Array& result,
                 const std::vector<Array>& inputs) {
  auto staged = std::make_shared<std::vector<Array>>();
  for (const Array& input : inputs) {
    staged->push_back(Array::on_host(stream, input.dtype(), input.shape()));
    transfer_from({staged->back(), stream}, {input, current_stream_of_array(input)});
  }
  const bool reads_in_order = destination.has(Capability::pinned_memory) || !destination.has(Capability::host_register);
  if (destination.has(Capability::host_functions) && reads_in_order) {
    stream.launch_host_func([staged] { add_arrays(*staged); });
    copy(stream, result, staged->front());
    stream.launch_host_func([staged] {});  // keeps the memory until it was read
  } else {
    stream.synchronize();
    add_arrays(*staged);
    copy(stream, result, staged->front());
    stream.synchronize();
  }
}

}  // namespace

Array reduce_add(const std::vector<Array>& inputs, const std::optional<Device>& destination) {
  constexpr const char* operation = reduce_operation;
  enter(operation);
  if (inputs.empty()) refuse(operation, {}, "there are no inputs\ngive at least one array");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = fmt::format("input {}", i);
    require_on_device(inputs[i], name, operation);
    require_same_dtype(inputs[i], inputs.front().dtype(), name, operation);
    require_same_shape(inputs[i], inputs.front().shape(), name, operation);
  }
  const Device device = require_destination(inputs, destination, operation);
  if (inputs.size() == 1) return inputs.front();
  const StreamView stream = current_stream(device);
  const std::optional<KernelView> kernel = sum_kernel(*device.state(), inputs.front().dtype(), operation);
  std::vector<StreamView> streams{stream};
  for (const Array& input : inputs) streams.push_back(current_stream_of_array(input));
  const Joined joined(streams);
  Array result(stream, inputs.front().dtype(), inputs.front().shape());
  if (kernel && result.size() != 0) add_on_device(stream, *kernel, device, result, inputs);
  if (!kernel && result.size() != 0) add_on_host(stream, device, result, inputs);
  joined.finish();
  return result;
}

}  // namespace anyplace::comm
