// SPDX-License-Identifier: Apache-2.0
// The Subsystem of this room (runtime/subsystem.h).
#pragma once

#include "runtime/subsystem.h"

namespace anyplace::detail {

extern constinit const Subsystem annotate_subsystem;

}  // namespace anyplace::detail
