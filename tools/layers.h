// SPDX-License-Identifier: Apache-2.0
// The layers (anyplace/layers.h), for `anyplace doctor`: which there are, and which are on for each backend.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "json.h"

namespace anyplace::tool {

/// {"layers": [...], "on": {"cuda": ["faults"], ...}, "problem": null or text}. The plugins are opened in a child
/// process, whose end is no end of this one.
Json examine_layers(const std::vector<std::string>& backends, std::chrono::milliseconds limit);
/// The result of examine_layers() for people.
std::string layers_text(const Json& examined);

}  // namespace anyplace::tool
