// SPDX-License-Identifier: Apache-2.0
// This room's actions at the moments of runtime/subsystem.h.
#pragma once

#include "runtime/subsystem.h"

namespace anyplace::detail {

extern constinit const Subsystem memory_subsystem;

}  // namespace anyplace::detail
