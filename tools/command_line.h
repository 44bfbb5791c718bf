// SPDX-License-Identifier: Apache-2.0
//
// Forward declarations of the classes of CLI11 that the commands' headers name. Only sources that define a command line
// include <CLI/CLI.hpp>: its constants are made anew in each file that includes it, which costs the compiler four
// seconds.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
