// SPDX-License-Identifier: Apache-2.0
#include "handles/subsystem.h"

#include "handles/deferred_release.h"
#include "handles/hazard_pointer.h"

namespace anyplace::detail {

constinit const Subsystem handles_subsystem{.forked = leave_fast_path, .end_unused = release_all_unused};

}  // namespace anyplace::detail
