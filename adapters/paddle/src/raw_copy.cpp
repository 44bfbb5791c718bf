// SPDX-License-Identifier: Apache-2.0
#include "raw_copy.h"

#include <anyplace/memory.h>

namespace anyplace_paddle {
namespace {

using anyplace::Buffer;
using anyplace::Device;

/// Names memory that Paddle owns; the Buffer may go before the copy is done.
Buffer named(const Device& device, const void* address, std::uint64_t bytes) {
  return Buffer::from_native(device, reinterpret_cast<std::uintptr_t>(address), bytes);
}

}  // namespace

void copy_in(const anyplace::StreamView& stream, const Device& device, void* destination, const void* source,
             std::uint64_t bytes) {
  stream.copy(named(device, destination, bytes), anyplace::ConstHostSpan(source, bytes));
}

void copy_out(const anyplace::StreamView& stream, const Device& device, void* destination, const void* source,
              std::uint64_t bytes) {
  stream.copy(anyplace::HostSpan(destination, bytes), named(device, source, bytes));
}

void copy_across(const anyplace::StreamView& stream, const Device& destination_device, void* destination,
                 const Device& source_device, const void* source, std::uint64_t bytes) {
  stream.copy(named(destination_device, destination, bytes), named(source_device, source, bytes));
}

void fill(const anyplace::StreamView& stream, const Device& device, void* destination, std::uint8_t value,
          std::uint64_t bytes) {
  stream.memset8(named(device, destination, bytes), value);
}

}  // namespace anyplace_paddle
