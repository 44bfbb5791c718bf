// SPDX-License-Identifier: Apache-2.0
// The compilers of kernels (anyplace/compile.h), for `anyplace doctor`: what each makes and works with, or what is
// missing, and which ones each backend can have.
#pragma once

#include <chrono>
#include <string>

#include "json.h"

namespace anyplace::tool {

/// {"compilers": [...], "for": {"cuda": [...], ...}, "problem": null or text}. The plugins are opened in a child
/// process, whose end is no end of this one.
Json examine_compilers(std::chrono::milliseconds limit);
/// The result of examine_compilers() for people.
std::string compilers_text(const Json& examined);

}  // namespace anyplace::tool
