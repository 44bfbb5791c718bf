// SPDX-License-Identifier: Apache-2.0
//
// Progress: shows what a command that takes long is doing, on one line of standard error. The line is overwritten as
// the command goes on, and erased when it is done. Nothing is written where standard error is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace anyplace::tool {

class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;  // one line, one owner; a forked child may go on with its copy
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// Begins a stage, and shows it at once: "reading trace.csv".
  void stage(std::string name);
  /// Shows how far the stage is, ten times a second at most.
  void at(std::uint64_t done, std::uint64_t total);
  /// Shows how far a stage without a known total is: "reading trace.csv: 300000 events".
  void count(std::uint64_t done, const char* what);
  /// Erases the line.
  void clear();

 private:
  bool is_due();
  void show(const std::string& text);

  bool on_terminal_;
  bool shown_ = false;
  std::string stage_;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace anyplace::tool
