// SPDX-License-Identifier: Apache-2.0
//
// The classes of CLI11's that the commands' headers name. <CLI/CLI.hpp> itself is for the files that say what a command
// takes: its constants are made anew in each file that includes it, which costs the compiler four seconds.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
