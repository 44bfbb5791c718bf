// SPDX-License-Identifier: Apache-2.0
// Which headers a source includes, for compilers that don't say.
#pragma once

#include "anyplace/backend/compiler.h"

namespace anyplace::compilers {

/// Calls sink.header for every file in the request's folders that an #include names, whatever the conditions around it
/// say. An #include of a macro could name anything: for that the sink gets the name of no file, so the image isn't
/// kept.
void report_included(const anyplace_compile_request& request, const anyplace_compile_sink& sink);

}  // namespace anyplace::compilers
