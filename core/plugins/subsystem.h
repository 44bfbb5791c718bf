// SPDX-License-Identifier: Apache-2.0
// What this room does at the moments of runtime/subsystem.h.
#pragma once

#include "runtime/subsystem.h"

namespace anyplace::detail {

extern constinit const Subsystem plugins_subsystem;

}  // namespace anyplace::detail
