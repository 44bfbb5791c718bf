// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "event.h"

namespace anyplace_ur {

/// Calls `callback` once the command of `event` has come as far as `status` says, on a thread of the adapter's, which
/// may call the adapter. A command counts as running from its submission on. A command that never ends is never told.
void call_when_reached(ur_event_handle_t event, ur_execution_info_t status, ur_event_callback_t callback,
                       void* user_data);

}  // namespace anyplace_ur
