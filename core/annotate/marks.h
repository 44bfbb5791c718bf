// SPDX-License-Identifier: Apache-2.0
// The part of annotations that Stream::mark uses.
#pragma once

#include <cstdint>

#include "anyplace/annotate.h"

namespace anyplace::detail {

/// Whether an annotation would be heard. Looks for tools if that hasn't been done.
bool anybody_listens() noexcept;
/// Called when the stream's work got to the mark: tells all listeners.
void mark_reached(annotate::Name name, const annotate::Attributes& attributes, std::uint64_t stream) noexcept;

}  // namespace anyplace::detail
