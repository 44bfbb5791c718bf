// SPDX-License-Identifier: Apache-2.0
// The checks of BufferSpan's ranges, which aren't inline.
#include <fmt/format.h>

#include "anyplace/memory.h"
#include "memory/memory_state.h"
#include "runtime/call.h"

namespace anyplace::detail {

void refuse_misaligned(const BufferView& view, std::uint64_t alignment) {
  constexpr const char* operation = "BufferSpan";
  enter(operation);
  const PinnedRange range = pin_range(view, operation);
  fail(ErrorCode::invalid_argument, range.device != nullptr ? range.device->place : std::string(), operation,
       fmt::format("the view begins at byte {} of its buffer\nelements of that type are at multiples of {} bytes",
                   view.offset_bytes(), alignment));
}

BufferView sub_elements(const BufferView& view, std::uint64_t offset, std::uint64_t count, std::uint64_t element) {
  constexpr const char* operation = "BufferSpan::subspan";
  enter(operation);
  const PinnedRange range = pin_range(view, operation);
  const std::uint64_t size = view.size_bytes() / element;
  if (offset > size || count > size - offset) {
    fail(ErrorCode::invalid_argument, range.device != nullptr ? range.device->place : std::string(), operation,
         fmt::format("{} elements from number {} are not within this span, which has {}", count, offset, size));
  }
  return {view.id(), view.offset_bytes() + offset * element, count * element};
}

}  // namespace anyplace::detail
