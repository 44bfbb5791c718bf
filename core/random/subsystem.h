// SPDX-License-Identifier: Apache-2.0
// This says what the room does at the moments of runtime/subsystem.h.
#pragma once

#include "runtime/subsystem.h"

namespace anyplace::detail {

extern constinit const Subsystem random_subsystem;

}  // namespace anyplace::detail
