// SPDX-License-Identifier: Apache-2.0
//
// The report of a schedule: lines of JSON, as docs/cpu_sim-deterministic.md has them, and the schedule's hash. The
// director's mutex guards it.
#pragma once

#include <cstdint>
#include <string>

namespace anyplace::cpu_sim {

class ScheduleReport {
 public:
  /// `path` may be empty; then lines are only hashed. Throws Failure(INVALID_ARGUMENT) if the file can't be written.
  explicit ScheduleReport(const std::string& path);
  ScheduleReport(const ScheduleReport&) = delete;
  ScheduleReport& operator=(const ScheduleReport&) = delete;
  ~ScheduleReport();

  bool is_written() const noexcept { return file_ >= 0; }
  /// Appends a line with one write, so that a process which dies keeps the lines before.
  void line(const std::string& json) noexcept;
  void hash(const std::string& json) noexcept;
  /// Returns the hash of what was given to hash(), as 16 hexadecimal digits.
  std::string hash_text() const;

 private:
  int file_ = -1;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// Returns the text in quotation marks, as JSON has it.
std::string json_text(const std::string& text);

}  // namespace anyplace::cpu_sim
