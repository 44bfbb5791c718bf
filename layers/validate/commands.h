// SPDX-License-Identifier: Apache-2.0
// What layer_command("validate", ...) does.
#pragma once

#include <string>
#include <string_view>

#include "engine.h"

namespace anyplace::validate {

/// The answer to the command. The caller holds the engine's mutex. Throws Failure (INVALID_ARGUMENT) for one that is
/// none, or has a bad argument.
std::string run_command(Engine& engine, std::string_view name, std::string_view argument);

}  // namespace anyplace::validate
