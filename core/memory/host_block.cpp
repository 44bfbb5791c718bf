// SPDX-License-Identifier: Apache-2.0
#include "memory/host_block.h"

#include "memory/memory_state.h"

namespace anyplace::detail {

HostBlock::HostBlock(DeviceState& of) : device(of), later(std::make_unique<BufferState>()) {
  later->device = &of;
  later->kind = ANYPLACE_MEMORY_PINNED;
}
HostBlock::~HostBlock() = default;

}  // namespace anyplace::detail
