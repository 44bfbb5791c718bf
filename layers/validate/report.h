// SPDX-License-Identifier: Apache-2.0
//
// Report: what was found, in words; and the Reports of the process, which are logged, written to files, and left out
// where a suppression file says so.
//
// Files are written whole at each new report, beside the old one and then put in its place, so that a process that dies
// leaves what it found.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "settings.h"

namespace anyplace::validate {

/// One of the two accesses.
struct Side {
  std::string operation;
  std::string access;  ///< "read", "write", "free"; empty if there is no such access
  std::string stream;
  std::uint64_t stream_id = 0;
  std::string thread;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::string name;  ///< of the memory
  std::vector<std::string> site;
  std::vector<std::string> functions;
};

struct Report {
  std::string kind;
  std::string place;
  std::string what;  ///< the first line of the message
  std::uint64_t bytes = 0;
  Side first;
  Side second;
  std::string why;   ///< what ordered the accesses not
  std::string mend;  ///< the one call that would have
  std::uint64_t count = 1;
  std::string key;
  std::string message;
};

/// The callers hold the lock of the Engine (engine.h).
class Reports {
 public:
  void use(const Settings& settings);
  const Settings& settings() const noexcept { return settings_; }
  void set_mode(Mode mode) noexcept { settings_.mode = mode; }

  /// Fills in key and message. Keeps, logs and writes the report unless it is suppressed or was made before. Returns
  /// false if it is suppressed. In the mode abort it doesn't return.
  bool add(Report report);
  /// Fills in the key and returns the message.
  static std::string message_of(Report report);
  /// Writes the files.
  void flush() noexcept;
  void clear() noexcept { all_.clear(); }
  std::string json() const;
  std::string sarif() const;
  /// Says which keys of the suppression file were never met.
  void end() noexcept;

 private:
  bool is_suppressed(const std::string& key);

  Settings settings_;
  std::vector<Report> all_;
  std::vector<std::string> suppressions_;
  std::set<std::string> met_;
  bool warned_ = false;
};

}  // namespace anyplace::validate
