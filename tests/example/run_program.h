// SPDX-License-Identifier: Apache-2.0
//
// Runs image_pipeline as a user would, in a folder that is removed afterwards, and keeps what it said.
#pragma once

#include <string>
#include <vector>

#include "support/process.h"
#include "support/temp_dir.h"

namespace example_test {

using Run = test::Ended;

struct RunOptions {
  test::Variables variables;       ///< added to the environment
  long file_size_limit = 0;        ///< bytes that a file may grow to; 0: no limit
  bool terminal = false;           ///< standard error is a terminal
  bool obeys_permissions = false;  ///< also as root
};

/// With the environment of the test, less everything that starts with ANYPLACE_.
Run run_program(const std::vector<std::string>& arguments, const RunOptions& options = {});

/// Whether RunOptions::terminal can be had here.
bool has_terminals();

bool contains(const std::string& text, const std::string& part);

using Folder = test::TempDir;
using test::read_file;

}  // namespace example_test
