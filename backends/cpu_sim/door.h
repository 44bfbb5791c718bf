// SPDX-License-Identifier: Apache-2.0
//
// The door: in the deterministic mode each entry that submits, asks or waits, or that makes a stream or memory, goes by
// the director (director.h). The other entries change nothing that a choice depends on.
#pragma once

#include <anyplace/backend/abi.h>

namespace anyplace::cpu_sim {

/// Puts the director in front of the entries of the table that the plugin has filled.
void put_door(anyplace_backend_table& table) noexcept;

}  // namespace anyplace::cpu_sim
