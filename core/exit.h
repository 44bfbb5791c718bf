// SPDX-License-Identifier: Apache-2.0
//
// The end of the process: a bounded wait for what was submitted, then the backends' shutdown. What doesn't finish in
// time is leaked, and said in one line.
#pragma once

namespace anyplace::detail {

/// An atexit handler. The first call does the work, later ones nothing; nothing in a forked child. It is registered
/// before a plugin is opened and again after its entry returned: exit runs handlers in reverse, so it comes before the
/// destructors of the plugin's own static objects.
void shut_down_at_exit();

}  // namespace anyplace::detail
