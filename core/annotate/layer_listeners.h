// SPDX-License-Identifier: Apache-2.0
// Layers that hear annotations (anyplace_layer_table::annotation). They come when they are first put over a backend,
// and stay until the process ends.
#pragma once

#include <cstdint>

#include "annotate/listeners.h"
#include "anyplace/annotate.h"

namespace anyplace::detail {

/// Tells the layers of an annotation, whose kind is one of ANYPLACE_ANNOTATION_*.
void tell_layers(AnnotatingThread& thread, std::uint32_t kind, const annotate::Event& event) noexcept;

}  // namespace anyplace::detail
