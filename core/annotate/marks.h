// SPDX-License-Identifier: Apache-2.0
// What Stream::mark asks of annotations.
#pragma once

#include <cstdint>

#include "anyplace/annotate.h"

namespace anyplace::detail {

/// Whether an annotation would be heard. Looks for tools if that hasn't been done.
bool anybody_listens() noexcept;
/// The stream's work got to the mark.
void mark_reached(annotate::Name name, const annotate::Attributes& attributes, std::uint64_t stream) noexcept;

}  // namespace anyplace::detail
