// SPDX-License-Identifier: Apache-2.0
// Runs check_snapshot.py on a snapshot. ANYPLACE_TEST_PYTHON is the interpreter, empty where there is none.
#pragma once

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

#include "support/temp_dir.h"

namespace snapshot_check {

struct Result {
  int status = -1;
  std::string output;  ///< both of standard output and standard error
};

inline bool has_python() { return *ANYPLACE_TEST_PYTHON != '\0'; }

/// What ctest takes for skipped.
inline void say_skipped() { std::cout << "ANYPLACE_TEST_SKIPPED: no Python 3 was found when this was configured\n"; }

/// `arguments` as a shell reads them.
inline Result run_python(const std::string& arguments) {
  FILE* const pipe = ::popen((ANYPLACE_TEST_PYTHON " -I -B " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("python can't be started");
  Result result;
  char part[4096];
  for (std::size_t got = 0; (got = std::fread(part, 1, sizeof(part), pipe)) != 0;) result.output.append(part, got);
  const int ended = ::pclose(pipe);
  result.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128;
  return result;
}

/// The checker's verdict on a pickle and, if it isn't empty, the JSON that has to say the same.
inline Result check(const std::string& pickle, const std::string& json, const std::string& options = "") {
  const test::TempDir folder;
  std::string arguments = ANYPLACE_TEST_CHECKER " '" + folder.write("snapshot.pickle", pickle) + "'";
  if (!json.empty()) arguments += " --json '" + folder.write("snapshot.json", json) + "'";
  return run_python(arguments + " " + options);
}

}  // namespace snapshot_check
